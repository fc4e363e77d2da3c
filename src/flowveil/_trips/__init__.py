"""Trips and samples of trajectories: reading them and knowing their columns."""

from flowveil._trips.columns import COORDINATES, LOOKS_COUNTED, ZONES, check_used
from flowveil._trips.ends import IN_NO_ZONE, ends_note, find_ends
from flowveil._trips.known_layouts import Layout, layouts
from flowveil._trips.samples import SampleSource, open_samples
from flowveil._trips.trips import Trips, TripsLike, read_trips, reopen_trips

__all__ = [
    "COORDINATES",
    "IN_NO_ZONE",
    "LOOKS_COUNTED",
    "ZONES",
    "Layout",
    "SampleSource",
    "Trips",
    "TripsLike",
    "check_used",
    "ends_note",
    "find_ends",
    "layouts",
    "open_samples",
    "read_trips",
    "reopen_trips",
]
