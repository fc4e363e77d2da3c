"""Methods: functions from a problem to a solution, and the registry of them."""

from flowveil._methods.frontier import FrontierPoint, parse_points
from flowveil._methods.keep_safe import KEPT
from flowveil._methods.method import Method, Option, Value, own_options
from flowveil._methods.registry import find_method, methods, noisy_methods

__all__ = [
    "KEPT",
    "FrontierPoint",
    "Method",
    "Option",
    "Value",
    "find_method",
    "methods",
    "noisy_methods",
    "own_options",
    "parse_points",
]
