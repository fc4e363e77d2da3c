"""The one room that draws noise: integers from OpenDP, each draw charged to a ledger."""

from flowveil.noise._ledger import PARTS, Ledger, Spend, check_epsilon, variance
from flowveil.noise._public import public_random
from flowveil.noise._sparse import positive_share

__all__ = ["PARTS", "Ledger", "Spend", "check_epsilon", "positive_share", "public_random", "variance"]
