"""Releases of every kind: what can be done with each, and what users do with any."""

from flowveil._kinds.operations import evaluate, export, query, read_release, reconstruct, sample, verify
from flowveil._kinds.records import RECORDS, Record
from flowveil._kinds.reports import report, report_numbers

__all__ = [
    "RECORDS",
    "Record",
    "evaluate",
    "export",
    "query",
    "read_release",
    "reconstruct",
    "report",
    "report_numbers",
    "sample",
    "verify",
]
