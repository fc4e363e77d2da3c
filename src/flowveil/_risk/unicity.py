"""Unicity: how few of somebody's own trips single them out, between tiles and between published areas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._flows import People
from flowveil._risk.finding import BREAKS, HOLDS, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._arrays import IntArray
    from flowveil._risk.case import Case

_POINTS = (1, 2, 3, 4)  # trips that an attacker knows
_MOST_PERSONS = 2_000  # who are attacked; more are sampled
_SEED = 0


def find_unicity(case: Case) -> Finding | None:
    """Count who can be singled out by p of their own trips (origin, destination, step of time), before and after."""
    people, group = case.flows.people, case.published.group
    if not isinstance(people, People) or group is None:
        return None
    raw = Visits(people.person, people.pair)
    flow = group[people.pair]
    published = Visits(people.person[flow >= 0], flow[flow >= 0])
    random = np.random.default_rng(_SEED)
    persons = random.permutation(np.unique(people.person))[:_MOST_PERSONS]
    before, after, linked, least = {}, {}, {}, {}
    known = {person: random.permutation(raw.items(person)) for person in persons.tolist()}
    for points in _POINTS:
        drawn = {person: visits[:points] for person, visits in known.items()}
        before[str(points)] = _share(raw.crowd(pairs) == 1 for pairs in drawn.values())
        flows = {person: _told(group, pairs) for person, pairs in drawn.items()}
        # A release does not tell which flows are of one person: the smallest crowd is all that several trips give.
        crowds = np.array([min((published.sizes[one] for one in ids), default=0) for ids in flows.values()], np.int64)
        after[str(points)] = float((crowds == 1).mean())
        least[str(points)] = int(np.median(crowds[crowds > 0])) if crowds.any() else 0
        linked[str(points)] = _share(len(ids) > 0 and published.crowd(ids) == 1 for ids in flows.values())
    small = int((published.sizes[published.sizes > 0] < case.k).sum())
    alone = round(after[str(_POINTS[-1])] * len(persons))
    return Finding(
        "unicity",
        after[str(_POINTS[-1])],
        f"share of persons who are alone in a published flow, given {_POINTS[-1]} of their own trips",
        BREAKS if small or alone else HOLDS,
        f"Between tiles, one of their trips singles out {before['1']:.0%} of persons, and four {before['4']:.0%}. "
        f"In the release {'nobody' if not alone else f'{alone:,}'} is: whoever knows four trips finds a crowd of "
        f"{least['4']:,} at the smallest (median over persons). "
        f"If someone could tell which published flows are of one person, four would single out {linked['4']:.0%}.",
        "" if not (small or alone) else "A flow has fewer persons than promised: do not publish.",
        {"points": list(_POINTS), "persons": len(persons), "seed": _SEED},
        {"before": before, "after": after, "linked": linked, "smallest_crowd": least, "flows_below_k": small},
        private=True,
    )


class Visits:
    """Who was where: distinct pairs of a person and an item, and the persons of each item."""

    def __init__(self, person: IntArray, item: IntArray) -> None:
        pairs = np.unique(np.column_stack([person, item]), axis=0)
        self._person, self._item = pairs[:, 0], pairs[:, 1]
        order = np.lexsort((pairs[:, 0], pairs[:, 1]))
        self._by_item = pairs[order, 0]
        count = int(self._item.max(initial=-1)) + 1
        self._edges = np.searchsorted(pairs[order, 1], np.arange(count + 1))
        self.sizes: IntArray = np.diff(self._edges)  # by item: how many persons

    def items(self, person: int) -> IntArray:
        """Return where somebody was."""
        begin, end = np.searchsorted(self._person, [person, person + 1])
        return self._item[begin:end]

    def crowd(self, items: IntArray) -> int:
        """Return how many persons were everywhere."""
        found = self._by_item[self._edges[items[0]] : self._edges[items[0] + 1]]
        for item in items[1:].tolist():
            found = np.intersect1d(found, self._by_item[self._edges[item] : self._edges[item + 1]], assume_unique=True)
        return len(found)


def _told(group: IntArray, pairs: IntArray) -> IntArray:
    """Return the published flows of pairs of tiles."""
    flows = np.unique(group[pairs])
    return flows[flows >= 0]


def _share(hits: Iterable[bool]) -> float:
    return float(np.mean(list(hits)))
