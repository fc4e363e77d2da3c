"""Methods side by side on the same flows."""

from flowveil._compare.comparison import MOST_SECONDS, compare, parse_comparison, parse_time_limit
from flowveil._compare.folder import check_target, write_comparison
from flowveil._compare.table import Comparison, Row, markdown, shown

__all__ = [
    "MOST_SECONDS",
    "Comparison",
    "Row",
    "check_target",
    "compare",
    "markdown",
    "parse_comparison",
    "parse_time_limit",
    "shown",
    "write_comparison",
]
