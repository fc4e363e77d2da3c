"""Reports: one page that shows what a release holds."""

from flowveil._report.check import CHECKED_REPORT, check_report
from flowveil._report.folder import read_files
from flowveil._report.make import make_inline, make_report
from flowveil._report.reporting import report, report_numbers
from flowveil._report.shoreline import land

__all__ = [
    "CHECKED_REPORT",
    "check_report",
    "land",
    "make_inline",
    "make_report",
    "read_files",
    "report",
    "report_numbers",
]
