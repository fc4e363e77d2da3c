"""Releases of flows: making, reading and evaluating them."""

from flowveil._release.anonymization import DEFAULT_LOSS, DEFAULT_METHOD, DEFAULT_SUPPRESSION, anonymize
from flowveil._release.evaluation import evaluate_flows, recount, retrace
from flowveil._release.frontiers import Frontier, frontier
from flowveil._release.read import read_flows
from flowveil._release.release import Release

__all__ = [
    "DEFAULT_LOSS",
    "DEFAULT_METHOD",
    "DEFAULT_SUPPRESSION",
    "Frontier",
    "Release",
    "anonymize",
    "evaluate_flows",
    "frontier",
    "read_flows",
    "recount",
    "retrace",
]
