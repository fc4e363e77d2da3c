"""Recovery of movements from counts over time, after Xu et al. (2017): people are where they went, one step later."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from flowveil._flows import People
from flowveil._folder import AREAS, ELSEWHERE, FLOWS, SIDES, TOTAL
from flowveil._risk.finding import HOLDS, TELLS, Finding

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._risk.case import Case

_MOST_PAIRS = 200  # of steps that are looked at; of more, as many evenly spread
_MOST_EXACT = 600  # trips of a step up to which the best assignment is sought; above, the nearest pairs go first
_SEED = 0
_BETTER = 1.5  # times as many right statements as by chance: from there on the attack tells something
_RADIUS = 6_371_000.0  # of the Earth, in meters
_FAR = 4e7  # meters: between areas one of which has no center, and between groups
_CYCLES = ("hour-of-day", "hour-of-week", "weekday-weekend", "day-type")


class Step(NamedTuple):
    """The flows of a step of time."""

    flow: IntArray  # by their place among all flows
    trips: IntArray
    start: FloatArray  # where they begin: a vector of length 1, NaN where an area has no center
    end: FloatArray
    group: IntArray  # by number


def find_recovery(case: Case) -> Finding | None:
    """Assign the trips of each step to those of the next that begin nearest to where they end; score with the truth."""
    time = case.files.manifest["options"].get("time")
    if time is None or time in _CYCLES:  # all days at once have no next step
        return None
    people, group = case.flows.people, case.published.group
    if not isinstance(people, People) or group is None:
        return None
    pairs = read_steps(case)
    chosen = np.unique(np.linspace(0, len(pairs) - 1, min(_MOST_PAIRS, len(pairs))).astype(np.int64)).tolist()
    visits = np.unique(np.column_stack([group[people.pair], people.person]), axis=0)
    random = np.random.default_rng(_SEED)
    claims = right = chance = moved = 0.0
    for here, there in (pairs[number] for number in chosen):
        went = _truth(visits, here, there)
        claimed = assign(here, there, random)
        blind = np.outer(here.trips, there.trips) / max(here.trips.sum(), there.trips.sum())
        claims, moved = claims + float(claimed.sum()), moved + float((went.sum(axis=1) > 0).sum())
        right, chance = right + float((claimed * went).sum()), chance + float((blind * went).sum())
    if not moved:
        return None
    tells = right > _BETTER * chance
    return Finding(
        "recovery",
        right / claims,
        "share of statements that are right of who goes on where, one step of time later",
        TELLS if tells else HOLDS,
        f"Whoever says of somebody in a flow that they are next in the one that begins nearest to its end is right in "
        f"{right / claims:.1%} of {int(claims):,} cases. Naming any flow of the next step by chance is right in "
        f"{chance / claims:.1%}.",
        "Flows hide who is in them, not that one goes on where another ended. Use longer steps of time, or a larger k."
        if tells
        else "",
        {"pairs_of_steps": len(chosen), "most_exact": _MOST_EXACT, "seed": _SEED, "times_chance": _BETTER},
        {"claims": int(claims), "right": right, "by_chance": chance},
        private=True,
    )


def read_steps(case: Case) -> list[tuple[Step, Step]]:
    """Return the published flows of each step of time and of the next, where both have some: all of it is public."""
    table, manifest = case.files.tables[FLOWS], case.files.manifest
    by = manifest["options"].get("by", [])
    if "totals" in manifest["promise"]:
        table = table.filter(np.array(table[by[0]].to_pylist(), object) != TOTAL)
    ends = zip(*(table[side].to_pylist() for side in SIDES), strict=True)
    table = table.filter(np.array([ELSEWHERE not in pair for pair in ends], bool))
    areas = case.files.tables[AREAS]
    lon, lat = (np.radians(np.array(areas[name].to_pylist(), np.float64)) for name in ("lon", "lat"))
    center = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    place = {name: number for number, name in enumerate(areas["area"].to_pylist())}
    start, end = (center[[place[name] for name in table[side].to_pylist()]] for side in SIDES)
    groups = list(zip(*(table[name].to_pylist() for name in by), strict=True)) if by else [()] * table.num_rows
    number = {group: rank for rank, group in enumerate(dict.fromkeys(groups))}
    group = np.array([number[one] for one in groups], np.int64)
    time, trips = table["time"].cast(pa.int64()).to_numpy(), table["trips"].to_numpy()
    moments = np.unique(time)
    step = np.diff(moments).min(initial=2**62)
    rows = [np.flatnonzero(time == moment) for moment in moments.tolist()]
    steps = [Step(row, trips[row], start[row], end[row], group[row]) for row in rows]
    return [pair for pair, apart in zip(pairwise(steps), np.diff(moments).tolist(), strict=True) if apart == step]


def assign(here: Step, there: Step, random: np.random.Generator) -> IntArray:
    """Return how many trips of each flow go on in each flow of the next step: those that begin nearest to their end."""
    far = _distances(here, there)
    if max(here.trips.sum(), there.trips.sum()) > _MOST_EXACT:
        return _nearest_first(here.trips, there.trips, far, random)
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  slow to import

    one, other = (np.repeat(np.arange(len(step.trips)), step.trips) for step in (here, there))
    rows, columns = linear_sum_assignment(far[np.ix_(one, other)])
    return _counts(one[rows], other[columns], far.shape)


def _distances(here: Step, there: Step) -> FloatArray:
    """Return the meters from where each flow ends to where each flow of the next step begins."""
    angle = np.arccos(np.clip(here.end @ there.start.T, -1, 1))
    far: FloatArray = np.nan_to_num(angle * _RADIUS, nan=_FAR) + _FAR * (here.group[:, None] != there.group)
    return far


def _nearest_first(supply: IntArray, demand: IntArray, far: FloatArray, random: np.random.Generator) -> IntArray:
    """Assign trips between the nearest areas first; in random order among equals."""
    moved = np.zeros(far.shape, np.int64)
    left, wanted = supply.tolist(), demand.tolist()
    shuffled = random.permutation(far.size)
    for cell in shuffled[np.argsort(far.ravel()[shuffled], kind="stable")].tolist():
        row, column = divmod(cell, len(wanted))
        if amount := min(left[row], wanted[column]):
            moved[row, column] = amount
            left[row] -= amount
            wanted[column] -= amount
    return moved


def _counts(rows: IntArray, columns: IntArray, shape: tuple[int, ...]) -> IntArray:
    moved = np.zeros(shape, np.int64)
    np.add.at(moved, (rows, columns), 1)
    return moved


def _truth(visits: IntArray, here: Step, there: Step) -> FloatArray:
    """Return the share of the persons of each flow who are in each flow of the next step; visits: flow, person."""
    seen: dict[int, list[int]] = {}
    sizes = np.ones(len(here.flow))
    for row, flow in enumerate(here.flow.tolist()):
        persons = _persons(visits, flow)
        sizes[row] = max(len(persons), 1)
        for person in persons:
            seen.setdefault(person, []).append(row)
    both = np.zeros((len(here.flow), len(there.flow)))
    for column, flow in enumerate(there.flow.tolist()):
        for person in _persons(visits, flow):
            both[seen.get(person, []), column] += 1
    share: FloatArray = both / sizes[:, None]
    return share


def _persons(visits: IntArray, flow: int) -> list[int]:
    begin, end = np.searchsorted(visits[:, 0], [flow, flow + 1])
    persons: list[int] = visits[begin:end, 1].tolist()
    return persons
