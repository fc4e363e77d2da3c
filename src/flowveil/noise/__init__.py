"""The one room that draws noise: integers from OpenDP, each draw charged to a ledger."""

from flowveil.noise._ledger import PARTS, Ledger, Spend, check_epsilon, variance
from flowveil.noise._public import public_random

__all__ = ["PARTS", "Ledger", "Spend", "check_epsilon", "public_random", "variance"]
