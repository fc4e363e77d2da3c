"""Pairs of places and the trips between them."""

from flowveil.flows._flows import WEIGHT_UNIT, Flows, Measures, People, Summary, add_by_group

__all__ = ["WEIGHT_UNIT", "Flows", "Measures", "People", "Summary", "add_by_group"]
