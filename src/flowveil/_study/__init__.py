"""Methods measured in all combinations on many matrices; a comparison is the smallest study."""

from flowveil._study.asking import parse_time_limit
from flowveil._study.cells import Row
from flowveil._study.compared_folder import check_target, write_comparison
from flowveil._study.comparison import MOST_SECONDS, compare, parse_comparison
from flowveil._study.folder import check_study
from flowveil._study.presets import preset_names
from flowveil._study.reproducing import reproduce
from flowveil._study.results import Study, markdown_table, mean_table
from flowveil._study.running import Progress
from flowveil._study.studying import parse_processes, parse_study, study
from flowveil._study.table import Comparison, markdown, shown

__all__ = [
    "MOST_SECONDS",
    "Comparison",
    "Progress",
    "Row",
    "Study",
    "check_study",
    "check_target",
    "compare",
    "markdown",
    "markdown_table",
    "mean_table",
    "parse_comparison",
    "parse_processes",
    "parse_study",
    "parse_time_limit",
    "preset_names",
    "reproduce",
    "shown",
    "study",
    "write_comparison",
]
