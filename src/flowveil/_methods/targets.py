"""Which target volume to take: for one matrix, or one for all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._errors import PromiseError
from flowveil._methods.volumes import distinct_targets, origin_cut
from flowveil._options import LARGEST_NUMBER, parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from flowveil._arrays import FloatArray
    from flowveil._methods.cuts import Cut
    from flowveil._problem import Problem
    from flowveil._processes import Spread

    Key = tuple[float, float]  # of two targets, the one with the smaller key is better

AUTO, BALANCED = "auto", "balanced"
STEP = 2.0  # between the first targets tried
BEST = 4  # targets around which more are tried, each time: there may be more than one valley
ROUNDS = 5  # of these
COMMON_STEP = 1.05  # between targets that all matrices may have in common
_FAILS = (math.inf, math.inf)


class Outcome(NamedTuple):
    """What a target gives in one matrix, as sums that can be added over matrices."""

    cost: float  # divided by `weight`: what auto keeps low
    weight: float
    origin: int  # tiles of the origin area, over all published trips
    destination: int
    trips: int  # published


def measure_cut(problem: Problem, cut: Cut, cost: float | None = None, weight: float = 1.0) -> Outcome:
    """Return what a cut gives; where no cost is given, auto keeps the loss by published trip low."""
    trips = cut.cube.trips[cut.published]
    trees = (problem.flows.origins, problem.flows.destinations)
    origin, destination = (
        int((tree.tiles[row[cut.published]] * trips).sum()) for tree, row in zip(trees, cut.cube.node[:2], strict=True)
    )
    published = int(trips.sum())
    if cost is None:
        cost, weight = cut.loss, published
    return Outcome(cost, weight, origin, destination, published)


def parse_target(v_target: str | float) -> str | float:
    """Return a rule by its name, or a target as a number."""
    return v_target if v_target in (AUTO, BALANCED) else positive("v_target", v_target, f"{AUTO} or {BALANCED}")


def positive(name: str, value: str | float, other: str = AUTO) -> float:
    """Return an option as a positive number, or raise."""
    hint = f"{name} is a positive number, or {other}"
    return float(parse_number(value, name, hint, 1 / LARGEST_NUMBER, LARGEST_NUMBER))


def first_targets(problem: Problem) -> list[float]:
    """Return targets of all sizes, each with origin areas of its own: tiles, then from about k trips up to one area."""
    targets = distinct_targets(problem)
    return targets[_spaced(targets, problem)].tolist()  # type: ignore[no-any-return]


def find_target(problem: Problem, v_target: str | float, outcome: Callable[[Problem, float], Outcome]) -> float:
    """Return the target given, or the best one by a rule: least cost, or areas of both ends most alike in size.

    If no target publishes anything, this is the one whose only origin area is everything.
    outcome: what a target gives; it may raise PromiseError.
    """
    rule = parse_target(v_target)
    if not isinstance(rule, str):
        return rule
    targets = distinct_targets(problem)

    def measure(places: list[int]) -> list[Key]:
        found = [_try(outcome, problem, targets[place]) for place in places]
        return [(0.0, _score(rule, [one])) if one and one.trips else _FAILS for one in found]

    keys = _search(_spaced(targets, problem), measure)
    if len(problem.cube) and min(keys.values()) == _FAILS:  # almost never, but then there may still be one
        others = [place for place in range(len(targets)) if place not in keys]
        keys.update(zip(others, measure(others), strict=True))
    best, place = min((key, place) for place, key in keys.items())
    return float(targets[-1 if best == _FAILS else place])


def find_common_target(
    problem: Problem, v_target: str | float, outcome: Callable[[Problem, float], Outcome], spread: Spread
) -> float:
    """Return the target given, or the one that is best by a rule when all matrices have it in common.

    Targets that keep the budget of all matrices together come first; else what matters is how little is left out.
    outcome: what a target gives in one matrix; it may raise PromiseError, and is sent where `spread` sends matrices.
    """
    rule = parse_target(v_target)
    if not isinstance(rule, str):
        return rule
    bare = problem.bare()
    parts = [bare.part(matrix) for matrix in range(problem.flows.matrix_count)]
    low, high = problem.requirement.k, max(part.flows.total for part in parts)
    targets = _geometric(low, high, COMMON_STEP)

    def measure(places: list[int]) -> list[Key]:
        rows = spread(partial(_outcomes, outcome, targets[places].tolist()), parts, bare.shared())
        return [_common_key(problem, rule, [one for one in column if one]) for column in zip(*rows, strict=True)]

    first = np.searchsorted(targets, _geometric(low, high, STEP) / COMMON_STEP).tolist()
    keys = _search(sorted(set(first)), measure)
    return float(targets[min((key, place) for place, key in keys.items())[1]])


def _search(first: Sequence[int], measure: Callable[[list[int]], list[Key]]) -> dict[int, Key]:
    """Return the keys of the places tried: the first ones, then those halfway from the best to their neighbors."""
    keys: dict[int, Key] = {}
    places = list(first)
    for _ in range(ROUNDS + 1):
        keys.update(zip(places, measure(places), strict=True))
        tried = sorted(keys)
        best = {place for key, place in sorted((key, place) for place, key in keys.items())[:BEST] if key != _FAILS}
        gaps = [gap for gap in pairwise(tried) if best & set(gap)]
        places = [(low + high) // 2 for low, high in gaps if high - low > 1]
        if not places:
            break
    return keys


def _spaced(targets: FloatArray, problem: Problem) -> list[int]:
    """Return places of targets that are `STEP` times apart, from k trips on, and of the first and last."""
    steps = _geometric(problem.requirement.k, problem.flows.total, STEP)
    inside = np.searchsorted(targets, steps)
    return np.unique([0, *np.minimum(inside, len(targets) - 1), len(targets) - 1]).tolist()  # type: ignore[no-any-return]


def _geometric(low: float, high: float, step: float) -> FloatArray:
    """Return numbers from low (or high, if that is less) to high, each at most `step` times the one before."""
    low = min(low, high)
    return np.geomspace(low, high, math.ceil(math.log(high / low, step)) + 1)


def _try(outcome: Callable[[Problem, float], Outcome], problem: Problem, target: float) -> Outcome | None:
    try:
        return outcome(problem, float(target))
    except PromiseError:
        return None


def _outcomes(
    outcome: Callable[[Problem, float], Outcome], targets: list[float], part: Problem
) -> list[Outcome | None]:
    """Return what each target gives in one matrix, None where it fails; targets with the same areas are one."""
    part = replace(part)  # a copy, so that its cube goes with it
    found: dict[bytes, Outcome | None] = {}
    areas = [origin_cut(part, target)[0].tobytes() for target in targets]
    for target, cut in zip(targets, areas, strict=True):
        if cut not in found:
            found[cut] = _try(outcome, part, target)
    return [found[cut] for cut in areas]


def _common_key(problem: Problem, rule: str, found: list[Outcome]) -> Key:
    left_out = problem.flows.total - sum(one.trips for one in found)
    return max(float(left_out - problem.budget), 0.0), _score(rule, found)


def _score(rule: str, found: Iterable[Outcome]) -> float:
    """Return what a rule keeps low: the mean cost, or the difference of mean tiles of origins and of destinations."""
    cost, weight, origin, destination, trips = (sum(column) for column in zip(*found, (0,) * 5, strict=True))
    if rule == BALANCED:
        return abs(origin - destination) / trips if trips else math.inf
    return cost / weight if weight else math.inf
