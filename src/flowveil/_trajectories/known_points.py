"""k^m: trajectories of single users in which any m points fit at least k of them, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._trajectories.glove import Group, Grouping, check_users
from flowveil._trajectories.hierarchy import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._trajectories.read import Trajectories

_PARTS = 8  # cells are divided in so many batches, since each changes what the others may keep


class _Cut(NamedTuple):
    """Which cell every sample is in, and what of it is kept."""

    level: IntArray  # by sample
    cell: IntArray  # by sample
    kept: BoolArray  # by sample
    rows: int  # input rows that are kept
    cost: float  # of all of them

    @property
    def mean(self) -> float:
        return self.cost / self.rows if self.rows else np.inf


def protect_points(
    trajectories: Trajectories,
    k: int,
    known_points: int,
    *,
    max_suppression: float,
    max_extent: int | None = None,
    max_duration: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Grouping:
    """Return one trajectory for each user, users with the same one together; raise PromiseError if too much is lost.

    Every sample becomes a cell of a public hierarchy, the same for all users. Of all levels the one with the least
    stretch is taken that keeps enough samples; its cells are then divided where that costs the fewest samples.
    max_suppression: largest share of input rows that are left out. max_extent, max_duration: as for `glove`.
    """
    if min(limit for limit in (max_extent, max_duration, 1) if limit is not None) < 1:
        raise InputError("a suppression threshold is smaller than the grid's step", "give a larger threshold")
    check_users(trajectories, k)
    maker = _Maker(trajectories, k, known_points, Hierarchy(trajectories.grid, max_extent, max_duration))
    allowed = int(max_suppression * maker.all_rows + 1e-9)
    cut = maker.divide(maker.start(maker.all_rows - allowed, tell), maker.all_rows - allowed, tell)
    return _group(trajectories, cut)


class _Maker:
    def __init__(self, trajectories: Trajectories, k: int, known_points: int, hierarchy: Hierarchy) -> None:
        self.trajectories, self.k, self.known, self.hierarchy = trajectories, k, known_points, hierarchy
        self.owner = trajectories.owner
        self.all_rows = int(trajectories.rows.sum())

    def start(self, least: int, tell: Callable[[str], None]) -> _Cut:
        """Return the level with the least stretch that keeps at least so many rows."""
        tell("counting who shares which points")
        most, samples = 0, len(self.trajectories.t)
        for level in np.argsort(self.hierarchy.cost, kind="stable").tolist():
            cut = self._cut(np.full(samples, level))
            if cut.rows and cut.rows >= least:
                return cut
            most = max(most, cut.rows)
        raise PromiseError(
            f"at best {1 - most / self.all_rows:.1%} of samples would be suppressed, more than is allowed",
            "raise max_suppression, lower k or known_points, or allow larger boxes and longer spans",
        )

    def divide(self, cut: _Cut, least: int, tell: Callable[[str], None]) -> _Cut:
        """Divide cells, in space and in time, where what is saved is worth the rows that it costs."""
        for in_time in (False, True):
            for part in range(_PARTS):
                tell(f"dividing places and times: {_PARTS * in_time + part + 1} of {2 * _PARTS}")
                finer = self.hierarchy.finer(cut.level, in_time=in_time)
                chosen = np.flatnonzero((cut.cell % _PARTS == part) & (finer >= 0))
                if not len(chosen):
                    continue
                trial = self._cut(_with(cut.level, chosen, finer))
                chosen = self._worth(cut, trial, chosen, cut.rows - least)
                if len(chosen):
                    trial = self._cut(_with(cut.level, chosen, finer))
                    cut = trial if trial.rows >= least and trial.mean < cut.mean else cut
        return cut

    def _worth(self, cut: _Cut, trial: _Cut, chosen: IntArray, spare: int) -> IntArray:
        """Return the samples of cells that are to be divided: those that save most for a row, within spare rows."""
        _, cell = np.unique(cut.cell[chosen], return_inverse=True)
        rows, cost = self.trajectories.rows[chosen], self.hierarchy.cost
        now, new = (np.bincount(cell, rows * one.kept[chosen]) for one in (cut, trial))
        paid = [np.bincount(cell, rows * one.kept[chosen] * cost[one.level[chosen]]) for one in (cut, trial)]
        saved = new * (paid[0] / np.maximum(now, 1) - paid[1] / np.maximum(new, 1))
        lost = np.maximum(now - new, 0)
        worth = np.where(lost > 0, saved / np.maximum(lost, 1), np.inf)
        order = np.argsort(-worth, kind="stable")
        fits = np.cumsum(lost[order]) <= spare
        good = np.zeros(len(worth), np.bool_)
        good[order[fits]] = True
        good &= (saved > 0) & (worth > cut.mean)
        return chosen[good[cell]]

    def _cut(self, level: IntArray) -> _Cut:
        """Return what is kept of samples that are generalized to these levels."""
        cell = self.hierarchy.cells(self.trajectories, level)
        kept = keep_shared(cell, self.owner, self.k, self.known)
        rows = self.trajectories.rows[kept]
        return _Cut(level, cell, kept, int(rows.sum()), float((rows * self.hierarchy.cost[level[kept]]).sum()))


def _with(level: IntArray, chosen: IntArray, finer: IntArray) -> IntArray:
    divided = level.copy()
    divided[chosen] = finer[chosen]
    return divided


def keep_shared(cell: IntArray, owner: IntArray, k: int, known: int) -> BoolArray:
    """Return which samples are kept, so that each set of at most `known` cells is in the records of no or k users."""
    from flowveil._trajectories.rare import Records, Visits, settle  # noqa: PLC0415  numba is slow to import

    users = int(owner.max()) + 1
    visit, of_sample = np.unique(cell * users + owner, return_inverse=True)
    of_cell, user = np.divmod(visit, users)
    crowd = np.bincount(of_cell)
    # The most visited first; a cell of fewer than k users is in no record, so that it is not looked at.
    order = np.flatnonzero(crowd[of_cell] >= k)
    order = order[np.lexsort((user[order], of_cell[order], -crowd[of_cell[order]]))]
    kept = np.zeros(len(visit), np.bool_)
    if len(order):
        new = np.flatnonzero(np.diff(of_cell[order], prepend=-1))
        visits = Visits(user[order], np.append(new, len(order)))
        first = np.concatenate([[0], np.cumsum(np.bincount(visits.users, minlength=users))])[:-1]
        records = Records(np.empty(len(order), np.int64), first, first.copy())
        kept[order] = settle(visits, records, k, known)
    shared: BoolArray = kept[of_sample]
    return shared


def check_points(grouping: Grouping, k: int, known: int) -> None:
    """Stop before anything is written if a set of at most `known` samples would be in the trajectories of too few."""
    records = [group.samples for group in grouping.groups for _ in group.members]
    _, cell = np.unique(np.concatenate(records, axis=1), axis=1, return_inverse=True)
    owner = np.repeat(np.arange(len(records)), [record.shape[1] for record in records])
    if not keep_shared(cell.ravel(), owner, k, known).all():
        raise PromiseError(f"{known} points would fit fewer than {k} users", "this is a bug: please report it")


def _group(trajectories: Trajectories, cut: _Cut) -> Grouping:
    """Return users by what they publish: for each cell of theirs the box and span around all that is kept in it."""
    kept = np.flatnonzero(cut.kept)
    _, cell = np.unique(cut.cell[kept], return_inverse=True)
    owner = trajectories.owner[kept]
    boxes = np.empty((6, int(cell.max()) + 1), np.int64)
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(boxes.shape[1]))
    for row, values in ((0, trajectories.t), (2, trajectories.x), (4, trajectories.y)):
        boxes[row] = np.minimum.reduceat(values[kept][order], first)
        boxes[row + 1] = np.maximum.reduceat(values[kept][order], first) + 1
    in_order = np.lexsort(boxes[[5, 3, 4, 2, 1, 0]])
    place = np.empty(len(in_order), np.int64)
    place[in_order] = np.arange(len(in_order))
    boxes = boxes[:, in_order]
    same: dict[bytes, list[int]] = {}
    for user in np.unique(owner).tolist():
        own = slice(*np.searchsorted(owner, (user, user + 1)))
        same.setdefault(np.unique(place[cell[own]]).tobytes(), []).append(user)
    groups = [Group(np.array(members), boxes[:, np.frombuffer(record, np.int64)]) for record, members in same.items()]
    suppressed = np.setdiff1d(np.arange(len(trajectories)), owner)
    return Grouping(groups, suppressed.tolist())
