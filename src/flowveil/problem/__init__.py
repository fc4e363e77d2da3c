"""The question a method answers."""

from flowveil.problem._axis import Axis
from flowveil.problem._cube import Cube, Run
from flowveil.problem._losses import LOSSES
from flowveil.problem._problem import NodePairs, Problem, Solution
from flowveil.problem._requirement import AUTO, LARGEST_NUMBER, Requirement, make_requirement, mean_weight

__all__ = [
    "AUTO",
    "LARGEST_NUMBER",
    "LOSSES",
    "Axis",
    "Cube",
    "NodePairs",
    "Problem",
    "Requirement",
    "Run",
    "Solution",
    "make_requirement",
    "mean_weight",
]
