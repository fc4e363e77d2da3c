"""The exact attacker: what sums and differences of all that is published tell for certain."""

from flowveil._risk.exact.attack import find_exact
from flowveil._risk.exact.margins import MarginsLike, read_margins

__all__ = ["MarginsLike", "find_exact", "read_margins"]
