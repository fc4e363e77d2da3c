"""The one room that draws noise: integers from OpenDP, each draw charged to a ledger."""

from flowveil._noise.growing import Growth
from flowveil._noise.ledger import PARTS, Ledger, Spend, variance
from flowveil._noise.public import public_random
from flowveil._noise.sparse import positive_share
from flowveil._noise.windows import WindowLedger

__all__ = ["PARTS", "Growth", "Ledger", "Spend", "WindowLedger", "positive_share", "public_random", "variance"]
