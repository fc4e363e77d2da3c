"""Pairs of places and the trips between them."""

from flowveil._engine import WEIGHT_UNIT
from flowveil._flows.build import build_flows, make_request
from flowveil._flows.crowds import Crowds
from flowveil._flows.flows import Flows, Provenance, add_by_group, check_flows, without_pairs
from flowveil._flows.marked import LocatedTrips, MarkedTrips, locate_trips, mark_trips
from flowveil._flows.matrices import check_groups
from flowveil._flows.people import Measures, People, least_weight

__all__ = [
    "WEIGHT_UNIT",
    "Crowds",
    "Flows",
    "LocatedTrips",
    "MarkedTrips",
    "Measures",
    "People",
    "Provenance",
    "add_by_group",
    "build_flows",
    "check_flows",
    "check_groups",
    "least_weight",
    "locate_trips",
    "make_request",
    "mark_trips",
    "without_pairs",
]
