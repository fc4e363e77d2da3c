"""From raw fixes to trips: stops, gaps, speeds, and cabs that carry somebody."""

from flowveil._fixes.making import MadeTrips, make_trips
from flowveil._fixes.rules import AUTO, RULES

__all__ = ["AUTO", "RULES", "MadeTrips", "make_trips"]
