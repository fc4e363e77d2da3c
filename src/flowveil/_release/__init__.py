"""Releases: making, writing, reading and evaluating them."""

from flowveil._release.anonymization import DEFAULT_LOSS, DEFAULT_METHOD, DEFAULT_SUPPRESSION, anonymize
from flowveil._release.evaluation import evaluate, recount, retrace
from flowveil._release.frontiers import Frontier, frontier
from flowveil._release.keys import TIMES, key_columns
from flowveil._release.read import read_audit, read_release, remembered
from flowveil._release.release import Release
from flowveil._release.tables import TOTAL
from flowveil._release.write import REPORT, check_target

__all__ = [
    "DEFAULT_LOSS",
    "DEFAULT_METHOD",
    "DEFAULT_SUPPRESSION",
    "REPORT",
    "TIMES",
    "TOTAL",
    "Frontier",
    "Release",
    "anonymize",
    "check_target",
    "evaluate",
    "frontier",
    "key_columns",
    "read_audit",
    "read_release",
    "recount",
    "remembered",
    "retrace",
]
