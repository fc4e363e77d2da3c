"""Trips: reading them and knowing their columns."""

from flowveil.trips._columns import COORDINATES, ZONES, needed
from flowveil.trips._trips import Trips, read_trips

__all__ = ["COORDINATES", "ZONES", "Trips", "needed", "read_trips"]
