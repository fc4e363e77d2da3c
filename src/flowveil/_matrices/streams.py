"""Streams: matrices published step by step, so that any window of steps in a row costs at most epsilon.

Budget absorption (Kellaris, Papadopoulos, Xiao and Papadias, "Differentially private event sequences over infinite
streams", VLDB 2014). Half of epsilon is for noticing change: at every step, how far the true counts are from what was
published last, with noise. The other half is for counts: a step that is like the last one repeats it and saves its
share, which a later step may use; that one is paid for by as many steps after it, which repeat it, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._matrices.mosaic import noisy_mosaic
from flowveil._matrices.points import Points, add
from flowveil._noise import PARTS, Ledger, WindowLedger

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._matrices.ladder import Ladders
    from flowveil._matrices.mosaic import Leaves

COMPARISON, COUNTS = "comparison", "counts"  # names of charges


@dataclass(frozen=True, eq=False)
class Draw:
    """Counts that were drawn at one step, of all its matrices, and the ledger that they were drawn from."""

    step: int
    leaves: Leaves
    ledger: Ledger


def noisy_stream(
    points: Points, window: WindowLedger, steps: int, ladders: Ladders, max_cells: int
) -> tuple[list[Draw], list[int]]:
    """Return what was drawn, and for each step which draw it publishes; `points` have as many matrices at each step.

    The matrices of a step (its groups) are drawn together or not at all. A person's trips of different steps may be
    in different groups: were each drawn when it saved enough, such a person could pay several times what a window may.
    """
    share = PARTS // (2 * window.window)  # of a step, for each of both halves
    groups = points.matrices // steps
    edges = np.searchsorted(points.number, np.arange(steps + 1) * groups)
    draws: list[Draw] = []
    shown: list[int] = []
    free = 0  # steps before it pay for the last draw; shares are saved from it on
    for step in range(steps):
        rows = slice(int(edges[step]), int(edges[step + 1]))
        number = points.number[rows] - step * groups
        here = Points(points.cells[rows], points.counts[rows], points.lengths, number, groups)
        comparison = window.part(COMPARISON, step, share)
        distance = int(comparison.count(COMPARISON, comparison.roots, _distance(here, draws, ladders), PARTS)[0])
        saved = min(step - free + 1, window.window)
        if not draws or (step >= free and distance > _error(draws[-1], window, saved * share)):
            ledger = window.part(COUNTS, step, saved * share, groups)
            draws.append(Draw(step, noisy_mosaic(here, ledger, ladders, max_cells, doubling=True), ledger))
            free = step + saved
        shown.append(len(draws) - 1)
    return draws, shown


def _distance(points: Points, draws: list[Draw], ladders: Ladders) -> IntArray:
    """Return how far true counts are from what was published last, over all its areas: a trip changes it by one."""
    if not draws:
        return np.zeros(1, np.int64)
    leaves = draws[-1].leaves
    counts = add(_find_leaves(leaves, points, ladders), points.counts, len(leaves))
    return np.array([np.abs(counts - leaves.counts).sum()], np.int64)


def _error(last: Draw, window: WindowLedger, parts: int) -> float:
    """Return the error to expect of counts drawn with so many parts, summed over areas as fine as the last ones."""
    again = Ledger(window.epsilon).epsilon_of(parts)
    return float(last.ledger.scales(last.leaves.charged).sum() * last.ledger.epsilon / again)


def _find_leaves(leaves: Leaves, points: Points, ladders: Ladders) -> IntArray:
    """Return the position of the pair of areas that each point lies in."""
    found = np.full(len(points.cells), -1, np.int64)
    for level in np.unique(leaves.pairs.level, axis=0):
        same = np.flatnonzero((leaves.pairs.level == level).all(axis=1))
        lengths = tuple(int(ladder.area[at, -1]) + 1 for ladder, at in zip(ladders.axes, level, strict=True))
        shape = (points.matrices, *lengths)
        keys = np.ravel_multi_index((leaves.pairs.matrix[same], *leaves.pairs.area[same].T), shape)
        areas = ladders.areas(np.tile(level, (len(points.cells), 1)), points.cells)
        asked = np.ravel_multi_index((points.number, *areas.T), shape)
        order = np.argsort(keys)
        place = np.minimum(np.searchsorted(keys, asked, sorter=order), len(keys) - 1)
        hit = keys[order[place]] == asked
        found[hit] = same[order[place[hit]]]
    return found
