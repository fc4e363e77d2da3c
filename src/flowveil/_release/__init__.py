"""Releases: making, writing, reading and evaluating them."""

from flowveil._release.anonymization import anonymize
from flowveil._release.demand import DEFAULT_METHOD, DEFAULT_SUPPRESSION, Demand, parse_demand
from flowveil._release.evaluation import evaluate, recount, retrace
from flowveil._release.frontiers import Frontier, find_frontier, frontier, parse_points
from flowveil._release.keys import TIMES, key_columns
from flowveil._release.read import read_audit, read_release, remembered
from flowveil._release.release import Release
from flowveil._release.tables import TOTAL
from flowveil._release.write import REPORT, check_target

__all__ = [
    "DEFAULT_METHOD",
    "DEFAULT_SUPPRESSION",
    "REPORT",
    "TIMES",
    "TOTAL",
    "Demand",
    "Frontier",
    "Release",
    "anonymize",
    "check_target",
    "evaluate",
    "find_frontier",
    "frontier",
    "key_columns",
    "parse_demand",
    "parse_points",
    "read_audit",
    "read_release",
    "recount",
    "remembered",
    "retrace",
]
