"""Trips: reading them and knowing their columns."""

from flowveil.trips._columns import COORDINATES, LOOKS_COUNTED, ZONES, needed
from flowveil.trips._trips import Trips, read_trips

__all__ = ["COORDINATES", "LOOKS_COUNTED", "ZONES", "Trips", "needed", "read_trips"]
