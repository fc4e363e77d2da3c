"""Pairs of places and the trips between them."""

from flowveil.engine import WEIGHT_UNIT
from flowveil.flows._build import build_flows, make_request
from flowveil.flows._crowds import Crowds
from flowveil.flows._flows import Flows, Provenance, add_by_group
from flowveil.flows._people import LARGEST_CROWD, Measures, People, least_weight

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
