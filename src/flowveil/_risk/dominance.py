"""Flows that one person, or a few, make up: who knows them knows the flow, and who is one of them knows the others."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from flowveil._risk.finding import BREAKS, HOLDS, TELLS, Finding

if TYPE_CHECKING:
    from flowveil._arrays import CountArray, IntArray
    from flowveil._risk.case import Case

# Rules of statistical offices for tables (Hundepool et al., Statistical Disclosure Control, 2012), with usual values.
_SHARE = Fraction(1, 2)  # of the trips: one person may make no more
_FEW, _OF_FEW = 2, Fraction(85, 100)  # the (n,k)-rule: so few persons may make no more than this share together
_CLOSE = Fraction(10, 100)  # the p%-rule: the second must not come this close to how many trips the first makes
_ADVICE = "Make the release with --max-share 0.5 (or less): no flow is then published of which one person makes more."


def find_dominance(case: Case) -> Finding | None:
    """Count the flows in which one person makes more than half of the trips, and those that break offices' rules."""
    people, group = case.flows.people, case.published.group
    if people is None or group is None:
        return None
    count = len(case.published.trips)
    made = _largest(_by_person(people.pair, people.person, people.trips, group), count)
    trips = case.flows.measure(group, count).trips
    first, second = made[:, 0], made[:, 1]
    alone = first * _SHARE.denominator > trips * _SHARE.numerator
    few = made[:, :_FEW].sum(axis=1) * _OF_FEW.denominator > trips * _OF_FEW.numerator
    close = (trips - first - second) * _CLOSE.denominator < first * _CLOSE.numerator
    worst = int(np.argmax(first / np.maximum(trips, 1))) if count else 0
    promised = case.files.manifest["promise"].get("max_share")
    broken = 0 if promised is None else int((first / np.maximum(trips, 1) > promised).sum())
    return Finding(
        "dominance",
        int(alone.sum()),
        "flows in which one person makes more than half of the trips",
        BREAKS if broken else TELLS if (alone | few | close).any() else HOLDS,
        _sentence(alone, few | close, (int(first[worst]), int(trips[worst])) if count else (0, 0), broken),
        _ADVICE if (alone | few | close).any() else "",
        {"share": float(_SHARE), "n": _FEW, "k": float(_OF_FEW), "p": float(_CLOSE)},
        {
            "flows": count,
            "worst_share": float(first[worst] / trips[worst]) if count else 0.0,
            "breaks_n_k_rule": int(few.sum()),
            "breaks_p_percent_rule": int(close.sum()),
            "above_promised_share": broken,
        },
        private=True,
    )


def _by_person(pair: IntArray, person: IntArray, trips: CountArray | None, group: IntArray) -> IntArray:
    """Return flow, and trips of a person in it, one row for each person of each flow (the columns)."""
    flow = group[pair]
    inside = flow >= 0
    persons = int(person.max(initial=0)) + 1
    each, place = np.unique(flow[inside] * persons + person[inside], return_inverse=True)
    weights = None if trips is None else trips[inside]
    return np.stack([each // persons, np.bincount(place, weights, minlength=len(each)).astype(np.int64)])


def _largest(made: IntArray, count: int) -> IntArray:
    """Return by flow the trips of the persons who make most, the most first (the columns); 0 where there is none."""
    flow, trips = made[:, np.lexsort((-made[1], made[0]))]
    start = np.searchsorted(flow, np.arange(count))
    rank = np.arange(len(flow)) - start[flow]
    table = np.zeros((count, max(_FEW, 2)), np.int64)
    chosen = rank < table.shape[1]
    table[flow[chosen], rank[chosen]] = trips[chosen]
    return table


def _sentence(alone: np.ndarray, others: np.ndarray, worst: tuple[int, int], broken: int) -> str:
    if broken:
        return f"In {broken:,} flows one person makes more of the trips than the release promises."
    most = f"At worst one person makes {worst[0]:,} of {worst[1]:,} trips."
    if alone.any():
        return (
            f"In {int(alone.sum()):,} of {len(alone):,} flows one person makes more than half of the trips: "
            f"the flow tells their habit. {most}"
        )
    if others.any():
        return f"In {int(others.sum()):,} of {len(others):,} flows two persons make nearly all of the trips. {most}"
    return f"No flow is made up by one or two persons. {most}"
