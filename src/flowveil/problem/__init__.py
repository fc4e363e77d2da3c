"""The question a method answers."""

from flowveil.problem._problem import NodePairs, Problem, Solution
from flowveil.problem._requirement import Requirement

__all__ = ["NodePairs", "Problem", "Requirement", "Solution"]
