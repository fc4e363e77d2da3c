"""Pairs of places and the trips between them."""

from flowveil.engine import WEIGHT_UNIT
from flowveil.flows._build import build_flows, make_request
from flowveil.flows._flows import Flows, Measures, People, Provenance, add_by_group

__all__ = ["WEIGHT_UNIT", "Flows", "Measures", "People", "Provenance", "add_by_group", "build_flows", "make_request"]
