"""The question a method answers."""

from flowveil._problem.axis import Axis, Dimension
from flowveil._problem.chance import Chance
from flowveil._problem.cube import Cube, Links, Run, by_split
from flowveil._problem.losses import LOSSES, LOSSES_OF_NODES
from flowveil._problem.memory import check_cells
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
    "make_requirement",
    "mean_weight",
]
