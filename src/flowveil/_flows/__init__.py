"""Pairs of places and the trips between them."""

from flowveil._engine import WEIGHT_UNIT
from flowveil._flows.build import build_flows, make_request
from flowveil._flows.crowds import Crowds
from flowveil._flows.flows import Flows, Provenance, add_by_group
from flowveil._flows.people import LARGEST_CROWD, Measures, People, least_weight

__all__ = [
    "LARGEST_CROWD",
    "WEIGHT_UNIT",
    "Crowds",
    "Flows",
    "Measures",
    "People",
    "Provenance",
    "add_by_group",
    "build_flows",
    "least_weight",
    "make_request",
]
