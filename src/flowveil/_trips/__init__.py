"""Trips: reading them and knowing their columns."""

from flowveil._trips.columns import COORDINATES, LOOKS_COUNTED, ZONES, needed
from flowveil._trips.trips import Trips, TripsLike, read_trips

__all__ = ["COORDINATES", "LOOKS_COUNTED", "ZONES", "Trips", "TripsLike", "needed", "read_trips"]
