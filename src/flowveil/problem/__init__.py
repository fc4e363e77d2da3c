"""The question a method answers."""

from flowveil.problem._axis import Axis
from flowveil.problem._cube import Cube
from flowveil.problem._losses import LOSSES
from flowveil.problem._problem import NodePairs, Problem, Solution
from flowveil.problem._requirement import Requirement

__all__ = ["LOSSES", "Axis", "Cube", "NodePairs", "Problem", "Requirement", "Solution"]
