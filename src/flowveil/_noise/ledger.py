"""The ledger: every draw is charged to the nodes of a tree, and no path from root to leaf spends more than epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._noise import draws, sparse
from flowveil._noise.growing import Growth
from flowveil._options import parse_epsilon

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

# Epsilon is handed out in this many equal parts: paths then add up in whole numbers, without rounding.
PARTS = 1 << 48


@dataclass(frozen=True)
class Spend:
    """One named charge: what each of `nodes` disjoint nodes was charged."""

    name: str
    parts: int
    nodes: int
    epsilon: float


class Ledger:
    """Hands out epsilon, draws what it was charged for, and raises before anything is overspent.

    Nodes are disjoint sets of trips. A trip lies in one node of each depth, so what it can lose is the sum along its
    own path; siblings cost nothing more (parallel composition). Nodes are numbered; `children` hangs nodes below
    others, which are then closed: a charge that came later would be missing from the paths of the children.
    """

    def __init__(self, epsilon: object, roots: int = 1) -> None:
        if isinstance(epsilon, str):  # is parsed where it is typed
            raise InputError(f"epsilon is {epsilon!r}", "give a number")
        self.epsilon = parse_epsilon(epsilon)
        self.spends: list[Spend] = []
        self.parents = np.full(roots, -1, np.int64)
        self.measured: list[tuple[IntArray, IntArray, IntArray]] = []  # nodes, noisy counts, charges: nothing private
        self.roots: IntArray = np.arange(roots, dtype=np.int64)  # one for each matrix
        self._spent = np.zeros(roots, np.int64)
        self._open = np.ones(roots, bool)

    def children(self, parents: IntArray) -> IntArray:
        """Hang one new node below each of `parents` (as often as listed) and return the new nodes."""
        self._check_open(np.unique(parents))
        self._open[parents] = False
        first = len(self._spent)
        self.parents = np.concatenate([self.parents, parents])
        self._spent = np.concatenate([self._spent, self._spent[parents]])
        self._open = np.concatenate([self._open, np.ones(len(parents), bool)])
        return np.arange(first, first + len(parents))

    def left(self, nodes: IntArray) -> IntArray:
        """Return the parts that the paths to `nodes` have not spent."""
        left: IntArray = PARTS - self._spent[nodes]
        return left

    def epsilon_of(self, parts: int) -> float:
        """Return the epsilon of some parts, rounded down."""
        exact = Fraction(self.epsilon) * int(parts) / PARTS
        nearest = float(exact)
        return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0)

    def count(self, name: str, nodes: IntArray, counts: IntArray, parts: IntArray | int) -> IntArray:
        """Charge `parts` to each node and return its count with noise; one vector for each distinct charge."""
        return self._draw(name, nodes, counts, np.broadcast_to(np.asarray(parts, np.int64), nodes.shape))

    def publish(self, name: str, nodes: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
        """Charge all that is left to each node; return its noisy count and what it was charged, in parts."""
        left = self.left(nodes)
        return self._draw(name, nodes, counts, left), left

    def publish_positive(
        self, name: str, node: int, counts: IntArray, cells: IntArray, among: int
    ) -> tuple[IntArray, IntArray]:
        """Charge all that is left to a node, add noise to each of its `among` cells, and return those above zero.

        counts, cells: those that are not zero, and which cells they are, ascending. Returns cells, ascending, and noisy
        counts. The cells are disjoint sets of the node's trips, so that the charge is that of one cell.
        """
        chosen = np.array([node], np.int64)
        epsilon = self.epsilon_of(int(self.left(chosen)[0]))
        self._charge(name, chosen, self.left(chosen))
        noisy = draws.add_laplace(counts, epsilon)
        zeros = sparse.count_positive(among - len(cells), draws.laplace_scale(epsilon))
        places = sparse.draw_places(zeros, among, cells)
        listed = np.concatenate([cells[noisy > 0], places])
        values = np.concatenate([noisy[noisy > 0], sparse.draw_positive(zeros, epsilon)])
        order = np.argsort(listed)
        return listed[order], values[order]

    def choose(self, name: str, node: int, scores: IntArray, sensitivity: int, parts: int) -> int:
        """Charge `parts` to a node and return the position of a score that is likely the least."""
        chosen = np.array([node], np.int64)
        self._charge(name, chosen, np.array([parts], np.int64))
        return draws.least(scores, sensitivity, self.epsilon_of(parts))

    def grow(self, name: str, parts: int, fan_out: int) -> Growth:
        """Charge `parts` to each root, and return what decides which nodes of a whole tree below them are split.

        fan_out: how many children a node has at most; more than two are cheaper. The tree may be as deep as it likes.
        """
        self._charge(name, self.roots, np.full(len(self.roots), parts, np.int64))
        return Growth(self, self.roots, self.epsilon_of(parts), fan_out)

    def part(self, name: str, parts: int) -> Ledger:
        """Charge `parts` to each root, and return a ledger of its own over the same trips, which has these to spend.

        Both are about the same trips, so that their charges add up (sequential composition); within the new ledger
        the trips may be divided in another way.
        """
        self._charge(name, self.roots, np.full(len(self.roots), parts, np.int64))
        return Ledger(self.epsilon_of(parts), len(self.roots))

    def single_trips(self, trips: int, roots: int = 1) -> Ledger:
        """Charge all that is left of a unit, and return a ledger about single trips, of which a unit has `trips`.

        A unit that is added or removed changes at most so many trips, one after the other (group privacy). The roots
        are matrices of which a trip is in one (parallel composition over trips, not over units).
        """
        left = int(self.left(self.roots).min())
        self._charge("trips", self.roots, np.full(len(self.roots), left, np.int64))
        whole = self.epsilon_of(left)
        share = whole / trips
        while Fraction(share) * trips > Fraction(whole):
            share = math.nextafter(share, 0)
        return Ledger(share, roots)

    def epsilons(self, parts: IntArray) -> FloatArray:
        """Return the epsilons of many charges."""
        distinct, position = np.unique(parts, return_inverse=True)
        budgets: FloatArray = np.array([self.epsilon_of(part) for part in distinct.tolist()], np.float64)[position]
        return budgets

    def scales(self, parts: IntArray) -> FloatArray:
        """Return the scales of the noise that charges buy."""
        distinct, position = np.unique(parts, return_inverse=True)
        each = [draws.laplace_scale(self.epsilon_of(part)) for part in distinct.tolist()]
        scales: FloatArray = np.array(each, np.float64)[position]
        return scales

    def largest_path(self) -> float:
        """Return the epsilon spent on the path that spent most: what the whole run costs."""
        return self.epsilon_of(int(self._spent.max()))

    def _draw(self, name: str, nodes: IntArray, counts: IntArray, parts: IntArray) -> IntArray:
        self._charge(name, nodes, parts)
        noisy = np.empty(len(nodes), np.int64)
        for charge in np.unique(parts).tolist():
            same = parts == charge
            noisy[same] = draws.add_laplace(counts[same], self.epsilon_of(charge))
        self.measured.append((nodes, noisy, np.array(parts)))
        return noisy

    def _charge(self, name: str, nodes: IntArray, parts: IntArray) -> None:
        self._check_open(nodes)
        if len(np.unique(nodes)) < len(nodes):
            raise PromiseError(f"{name}: a node was charged twice at once", "please report this bug")
        if len(parts) and int(parts.min()) <= 0:
            raise PromiseError(f"{name}: nothing is left to spend", "please report this bug")
        if (parts > self.left(nodes)).any():
            over = int((parts - self.left(nodes)).max()) / PARTS
            raise PromiseError(
                f"{name}: a path would spend {1 + over:.4g} times the epsilon it was given", "please report this bug"
            )
        self._spent[nodes] += parts
        for charge, count in zip(*np.unique(parts, return_counts=True), strict=True):
            self.spends.append(Spend(name, int(charge), int(count), self.epsilon_of(int(charge))))

    def _check_open(self, nodes: IntArray) -> None:
        if not self._open[nodes].all():
            raise PromiseError("a node that has children was charged or split again", "please report this bug")


def variance(scales: FloatArray) -> FloatArray:
    """Return the variance of discrete Laplace noise: 2 q / (1 - q)^2 with q = exp(-1 / scale)."""
    decay = np.exp(-1 / scales)
    return np.asarray(2 * decay / (1 - decay) ** 2)
