"""Releases of flows: making, reading and evaluating them."""

from flowveil._release.anonymization import anonymize
from flowveil._release.coverage import Coverage, measure_coverage
from flowveil._release.demand import DEFAULT_METHOD, DEFAULT_SUPPRESSION, Demand, parse_demand
from flowveil._release.evaluation import evaluate_flows, recount, retrace
from flowveil._release.frontiers import Frontier, find_frontier, frontier
from flowveil._release.keys import times_of
from flowveil._release.read import read_flows
from flowveil._release.release import Release

__all__ = [
    "DEFAULT_METHOD",
    "DEFAULT_SUPPRESSION",
    "Coverage",
    "Demand",
    "Frontier",
    "Release",
    "anonymize",
    "evaluate_flows",
    "find_frontier",
    "frontier",
    "measure_coverage",
    "parse_demand",
    "read_flows",
    "recount",
    "retrace",
    "times_of",
]
