"""Releases: making, writing, reading and evaluating them."""

from flowveil.release._anonymize import DEFAULT_LOSS, DEFAULT_METHOD, DEFAULT_SUPPRESSION, anonymize
from flowveil.release._evaluate import evaluate, recount, retrace
from flowveil.release._frontier import Frontier, frontier
from flowveil.release._keys import TIMES, key_columns
from flowveil.release._read import read_audit, read_release, remembered
from flowveil.release._release import Release
from flowveil.release._tables import TOTAL
from flowveil.release._write import REPORT, check_target

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
