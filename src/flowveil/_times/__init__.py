"""Time: the steps that trips are cut into, and the hierarchies above them."""

from flowveil._times.hierarchy import Levels, TimeTree, build_tree, parse_hierarchy
from flowveil._times.steps import HOUR_OF_DAY, TimeSteps, parse_steps

__all__ = ["HOUR_OF_DAY", "Levels", "TimeSteps", "TimeTree", "build_tree", "parse_hierarchy", "parse_steps"]
