"""Growing a tree at one charge for all of it, however deep: PrivTree (Zhang, Xiao, Xie, SIGMOD 2016), in whole numbers.

A node of depth h with count c is split if max(-decay, c - h * decay) + noise > 0, with discrete Laplace noise of one
scale for all nodes. What a trip changes on its path shrinks from node to node, so that the whole tree costs no more
than 2 + 1 / (fan_out - 1) single decisions: docs/decisions/0063-privtree-in-whole-numbers.md has the proof.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError
from flowveil._noise import draws

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._noise.ledger import Ledger

_UNKNOWN = -1  # depth of a node that this tree does not have
_SLACK = 1e-12  # relative; the decay may be larger than it must be, never smaller
_BUG = "please report this bug"


def decision_epsilon(epsilon: float, fan_out: int) -> float:
    """Return what a single decision may cost so that a whole tree costs `epsilon`: (b - 1) / (2 b - 1) of it."""
    exact = Fraction(epsilon) * (fan_out - 1) / (2 * fan_out - 1)
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0)


def decay_of(scale: float, fan_out: int) -> int:
    """Return by how much counts are lowered from depth to depth: the whole number above scale * ln(fan_out)."""
    return math.floor(scale * math.log(fan_out) * (1 + _SLACK)) + 1


class Growth:
    """Decides which nodes of a ledger's tree are split. It is paid for as a whole, when it is made.

    The proof asks that counts never grow from a node to its children, that a node is asked about once, and that its
    parent was split. All three are checked here; depths are counted here, too.
    """

    def __init__(self, ledger: Ledger, roots: IntArray, epsilon: float, fan_out: int) -> None:
        self._ledger = ledger
        self._decision = decision_epsilon(epsilon, fan_out)
        self._decay = decay_of(draws.laplace_scale(self._decision), fan_out)
        size = len(ledger.parents)
        self._depth = np.full(size, _UNKNOWN, np.int64)  # by node
        self._depth[roots] = 0
        self._count = np.zeros(size, np.int64)  # by node that was split; private
        self._split = np.zeros(size, bool)
        self._asked = np.zeros(size, bool)

    def splits(self, nodes: IntArray, counts: IntArray) -> BoolArray:
        """Return which nodes are split; counts: the true numbers of trips of each."""
        self._extend()
        below = self._depth[nodes] == _UNKNOWN
        parents = self._ledger.parents[nodes]
        if (below & ~((parents >= 0) & self._split[parents])).any():
            raise PromiseError("a node was asked about whose parent was not split", _BUG)
        if self._asked[nodes].any() or len(np.unique(nodes)) < len(nodes):
            raise PromiseError("a node was asked about twice", _BUG)
        if (counts[below] > self._count[parents[below]]).any():
            raise PromiseError("a node has more trips than its parent", _BUG)
        self._asked[nodes] = True
        self._depth[nodes[below]] = self._depth[parents[below]] + 1
        biased = np.maximum(counts - self._depth[nodes] * self._decay, -self._decay)
        split: BoolArray = draws.add_laplace(biased, self._decision) > 0
        self._split[nodes] = split
        self._count[nodes] = counts
        return split

    def _extend(self) -> None:
        """Make room for the nodes that the ledger has now."""
        more = len(self._ledger.parents) - len(self._depth)
        self._depth = np.append(self._depth, np.full(more, _UNKNOWN, np.int64))
        self._count = np.append(self._count, np.zeros(more, np.int64))
        self._split = np.append(self._split, np.zeros(more, bool))
        self._asked = np.append(self._asked, np.zeros(more, bool))
