"""Reports: one page that shows what a release holds."""

from flowveil.report._check import CHECKED_REPORT, check_report
from flowveil.report._folder import read_files
from flowveil.report._land import land
from flowveil.report._make import make_inline, make_report
from flowveil.report._report import report, report_numbers

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
