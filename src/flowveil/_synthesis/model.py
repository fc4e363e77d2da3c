"""The private model of paths: noisy counts of every part, learned from samples and charged to a ledger."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._noise import PARTS, Ledger
from flowveil._synthesis.blocks import make_blocks
from flowveil._synthesis.contributions import Counted, add_up
from flowveil._synthesis.divided import Places, divide, root_square
from flowveil._synthesis.parts import GRID, SHARES, STAYS, UNITS, part_shapes
from flowveil._synthesis.records import Records, make_samples

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._synthesis.clock import Days
    from flowveil._synthesis.paths import Paths
    from flowveil._trajectories import Grid

_THOUSANDTHS = 1000
_BLOCKED = ("pairs", "moves")
_BLOCK_NOISE = 2.0  # users of a cell, for each of its noise: finer blocks would show noise only
_MOST_BLOCKS = 24


@dataclass(frozen=True, eq=False)
class Model:
    """Noisy counts by part, in UNITS a user, and what they are about: nothing private."""

    grid: Grid
    days: Days
    places: Places
    block: IntArray  # of each place
    counts: dict[str, IntArray]  # rows by columns
    scales: dict[str, float]  # of the noise, in the same units

    def users(self, part: str) -> FloatArray:
        """Return the counts of a part in users."""
        return self.counts[part] / UNITS

    def noise(self, part: str) -> float:
        """Return the scale of the noise of a part in users."""
        return self.scales[part] / UNITS


def learn(paths: Paths, grid: Grid, days: Days, epsilon: float) -> tuple[Model, Ledger]:
    """Learn a model at epsilon for one user, whose UNITS cost epsilon / UNITS each; paths: true ones."""
    ledger = Ledger(share_of(epsilon))
    places, place = divide(ledger.part(GRID, _parts(GRID)), grid, Counted(paths.user, paths.x, paths.y))
    records = Records(make_samples(paths.user, paths.minute, days), places, place, days)
    counts: dict[str, IntArray] = {}
    scales: dict[str, float] = {}
    block = np.zeros(len(places), np.int64)
    for part in SHARES:
        if part == GRID:
            continue
        if part == _BLOCKED[0]:
            block = _choose_blocks(places, grid, counts, epsilon)
        rows, columns = part_shapes(len(places), int(block.max()) + 1, days.many)[part]
        user, cell = records.of(part, block if part in _BLOCKED else None)
        shared = np.full(records.users, STAYS) if part == "stays" else None  # so that a place counts its users
        amounts = add_up(user, cell, rows * columns, shared)
        noisy, scales[part] = _add_noise(ledger, part, amounts)
        counts[part] = noisy.reshape(rows, columns)
    return Model(grid, days, places, block, counts, scales), ledger


def share_of(epsilon: float) -> float:
    """Return epsilon over the units of a user, rounded down until it fits."""
    share = epsilon / UNITS
    while share * UNITS > epsilon:
        share = math.nextafter(share, 0)
    if share <= 0:
        raise InputError(f"epsilon is {epsilon}", "give a larger one: a user is counted in small parts")
    return share


def _parts(name: str) -> int:
    return PARTS * SHARES[name] // _THOUSANDTHS


def _add_noise(ledger: Ledger, part: str, amounts: IntArray) -> tuple[IntArray, float]:
    """Charge a part of the model; its cells are disjoint sets of units, so that a unit costs what one cell does."""
    own = ledger.part(part, _parts(part))
    noisy, charged = own.publish(part, own.children(np.zeros(len(amounts), np.int64)), amounts)
    return noisy, float(own.scales(charged[:1])[0])


def _choose_blocks(places: Places, grid: Grid, counts: dict[str, IntArray], epsilon: float) -> IntArray:
    """Return the block of each place, by noisy counts only: as many as there are users to fill pairs of them."""
    weight = counts["homes"][:, 0] + counts["works"][:-1, 0] + counts["visits"][:, 0]
    users = max(0.0, float(counts["users"][0, 0]) / UNITS)
    noise = _THOUSANDTHS / (epsilon * SHARES[_BLOCKED[0]])
    most = int(min(max(math.sqrt(users / (_BLOCK_NOISE * noise)), 1), _MOST_BLOCKS))
    return make_blocks(places, root_square(grid), np.maximum(weight, 0), most)
