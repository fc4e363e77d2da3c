"""The question a method answers."""

from flowveil._problem.axis import Axis, Dimension
from flowveil._problem.chance import Chance
from flowveil._problem.common import common_cube, join_matrices
from flowveil._problem.cube import Cube, Links, Run, by_split
from flowveil._problem.kept import find_safe
from flowveil._problem.losses import LOSSES, LOSSES_OF_NODES
from flowveil._problem.memory import check_cells
from flowveil._problem.on_areas import pass_on_areas
from flowveil._problem.problem import NodePairs, Problem
from flowveil._problem.requirement import Least, Requirement, make_requirement, mean_weight
from flowveil._problem.solution import Solution

__all__ = [
    "LOSSES",
    "LOSSES_OF_NODES",
    "Axis",
    "Chance",
    "Cube",
    "Dimension",
    "Least",
    "Links",
    "NodePairs",
    "Problem",
    "Requirement",
    "Run",
    "Solution",
    "by_split",
    "check_cells",
    "common_cube",
    "find_safe",
    "join_matrices",
    "make_requirement",
    "mean_weight",
    "pass_on_areas",
]
