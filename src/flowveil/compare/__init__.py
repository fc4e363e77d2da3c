"""Methods side by side on the same flows."""

from flowveil.compare._compare import MOST_SECONDS, compare
from flowveil.compare._folder import check_target, write_comparison
from flowveil.compare._table import markdown, shown

__all__ = ["MOST_SECONDS", "check_target", "compare", "markdown", "shown", "write_comparison"]
