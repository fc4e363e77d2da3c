"""Drawing synthetic paths from a model: nothing else is looked at, so that they cost nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.clock import MINUTES_PER_DAY, is_weekend, utc_minutes
from flowveil._synthesis.divided import box_cells
from flowveil._synthesis.habits import make_habits
from flowveil._synthesis.parts import (
    FAVORITE,
    GAPS,
    HOME,
    OCTAVES,
    PASSING,
    RANKS,
    WORK,
    gap_class,
    octave,
    size_edges,
    slot_of,
)
from flowveil._synthesis.paths import Paths

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._synthesis.clock import Days
    from flowveil._synthesis.habits import Habits
    from flowveil._synthesis.model import Model

_TINY = 1e-12
_TRIES = 8  # to draw a favorite place that the user does not have yet
_NONE = -1


@dataclass(frozen=True, eq=False)
class _People:
    """Synthetic users: samples and active days, and own places (home, work, favorite ones) with a point of each."""

    size: IntArray
    active: IntArray
    distinct: IntArray  # other places, RANKS + 1: more
    place: IntArray  # user by own place, -1: none
    x: IntArray
    y: IntArray


def draw_paths(model: Model, users: int | None = None, seed: int | None = None) -> Paths:
    """Draw paths of users, by default of as many as the model counts."""
    habits, random = make_habits(model), np.random.default_rng(seed)
    people = _draw_people(model, habits, habits.users if users is None else users, random)
    user, local = _draw_times(habits, model.days, people, random)
    x, y = _walk(model, habits, people, user, local, random)
    step = model.grid.minutes
    minute = utc_minutes(local, model.days.timezone) // step * step
    return Paths(user, minute, x, y)


def _draw_people(model: Model, habits: Habits, many: int, random: np.random.Generator) -> _People:
    size = _within(size_edges(), _pick(habits.sizes, many, random), random)
    classes = octave(size)
    edges = np.asarray(2.0 ** np.arange(OCTAVES + 1), np.float64)
    active = _within(edges, _pick_row(habits.active, classes, random), random)
    active = np.minimum(np.minimum(active, size), model.days.many)
    distinct = _pick_row(habits.distinct, classes, random)
    places = len(model.places)
    ends = _pick(habits.ends.ravel(), many, random)
    place = np.full((many, 2 + RANKS), _NONE, np.int64)
    place[:, HOME] = ends // places
    place[:, WORK] = np.where(random.random(many) < habits.jobless, _NONE, ends % places)
    for rank in range(RANKS):
        chosen = np.flatnonzero(distinct > rank)
        for _ in range(_TRIES):
            drawn = _pick_row(habits.favorites, place[chosen, HOME], random)
            fresh = (place[chosen] != drawn[:, None]).all(axis=1)
            place[chosen[fresh], 2 + rank] = drawn[fresh]
            chosen = chosen[~fresh]
    x, y = _points(model, place.ravel(), random)
    return _People(size, active, distinct, place, x.reshape(place.shape), y.reshape(place.shape))


def _draw_times(habits: Habits, days: Days, people: _People, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Return the user and the local minute of each sample, in order."""
    many = len(people.size)
    # The days of a user: those with the largest of random keys, so that likely days are chosen more often.
    keys = random.gumbel(size=(many, days.many)) + np.log(np.maximum(habits.days, _TINY))
    order = np.argsort(-keys, axis=1)
    user = np.repeat(np.arange(many), people.size)
    turn = np.arange(len(user)) - np.repeat(np.cumsum(people.size) - people.size, people.size)
    # Every active day has a sample; the others go to these days as likely as days are.
    weight = habits.days[order] + _TINY
    weight[np.arange(days.many) >= people.active[:, None]] = 0
    drawn = _pick_row(weight / weight.sum(axis=1, keepdims=True), user, random)
    day = order[user, np.where(turn < people.active[user], turn, drawn)] + days.first
    hour = _pick_row(habits.hours, is_weekend(day), random)
    local = day * MINUTES_PER_DAY + hour * 60 + random.integers(60, size=len(user))
    return user, local[np.lexsort((local, user))]


def _walk(
    model: Model, habits: Habits, people: _People, user: IntArray, local: IntArray, random: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return column and row of each sample: users stay, go to own places, or pass others, step by step."""
    slot = slot_of(local % MINUTES_PER_DAY // 60, is_weekend(local // MINUTES_PER_DAY))
    pull = habits.roles / np.maximum(habits.usual, _TINY)  # how much more likely a role is in a slot
    first = np.cumsum(people.size) - people.size
    longest = np.argsort(-people.size, kind="stable")
    able = np.stack(
        [
            np.ones(len(people.size), bool),
            people.place[:, WORK] != _NONE,
            people.distinct > 0,
            people.distinct > RANKS,
        ],
        axis=1,
    )
    x, y = np.empty(len(user), np.int64), np.empty(len(user), np.int64)
    role = np.full(len(people.size), HOME)
    own = np.full(len(people.size), HOME)  # which own place a user is at; of passed places any
    place = people.place[:, HOME].copy()
    for turn in range(int(people.size.max(initial=0))):
        now = longest[: np.searchsorted(-people.size[longest], -turn, side="left")]
        row = first[now] + turn
        if turn == 0:
            choice = 1 + _pick_weights(habits.roles[slot[row]] * able[now], random)
        else:
            gap = gap_class(local[row] - local[row - 1])
            chance = habits.steps[role[now] * GAPS + gap]
            go = chance[:, 1:] * pull[slot[row]] * able[now]
            go[np.arange(len(now)), role[now]] *= role[now] >= FAVORITE  # home and work have one place each
            stay = chance[:, 0] * pull[slot[row], role[now]]
            choice = _pick_weights(np.column_stack([stay, go]), random)
            x[row], y[row] = x[row - 1], y[row - 1]
        moved = choice > 0
        who, there = now[moved], choice[moved] - 1
        _settle(habits, people, (who, there), (role, own, place), random)
        x[row[moved]], y[row[moved]] = people.x[who, own[who]], people.y[who, own[who]]
        passed = who[there == PASSING]
        at = row[moved][there == PASSING]
        x[at], y[at] = _points(model, place[passed], random)
    return x, y


def _settle(
    habits: Habits,
    people: _People,
    going: tuple[IntArray, IntArray],
    state: tuple[IntArray, IntArray, IntArray],
    random: np.random.Generator,
) -> None:
    """Move users to a place of the role that they go to; changes the state."""
    who, there = going
    role, own, place = state
    known = who[there < FAVORITE]
    own[known] = there[there < FAVORITE]
    fans = who[there == FAVORITE]
    weight = np.where(people.place[fans, 2:] != _NONE, habits.ranks + _TINY, 0)
    at_one = role[fans] == FAVORITE
    weight[np.flatnonzero(at_one), own[fans[at_one]] - 2] = 0  # another one than this
    stuck = weight.sum(axis=1) <= 0
    own[fans[~stuck]] = 2 + _pick_weights(weight[~stuck], random)
    own[fans[stuck]] = np.where(at_one[stuck], own[fans[stuck]], HOME)
    passing = who[there == PASSING]
    place[passing] = _pick_row(habits.moves, place[passing], random)
    role[who] = there
    role[fans[stuck & ~at_one]] = HOME
    settled = who[there != PASSING]
    place[settled] = people.place[settled, own[settled]]


def _points(model: Model, place: IntArray, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw a cell of each place, inside the box."""
    _, right, _, top = box_cells(model.grid)  # places begin in the box
    places = model.places
    wide = np.minimum(places.edge[place], right + 1 - places.x[place])
    tall = np.minimum(places.edge[place], top + 1 - places.y[place])
    return places.x[place] + random.integers(wide), places.y[place] + random.integers(tall)


def _within(edges: FloatArray, classes: IntArray, random: np.random.Generator) -> IntArray:
    """Draw a whole number of each class, whose least one is the first at or above its edge."""
    low, high = (np.ceil(edges[classes + after] - _TINY).astype(np.int64) for after in (0, 1))
    return np.asarray(low + random.integers(np.maximum(high - low, 1)))


def _pick(chances: FloatArray, many: int, random: np.random.Generator) -> IntArray:
    ends = np.cumsum(chances)
    spot = np.searchsorted(ends, random.random(many) * ends[-1], side="right")
    return np.asarray(np.minimum(spot, len(chances) - 1))


def _pick_row(chances: FloatArray, row: IntArray, random: np.random.Generator) -> IntArray:
    """Draw a column of a row each; rows add up to one."""
    ends = np.cumsum(chances, axis=1)
    keys = (ends + np.arange(len(ends))[:, None] * 2).ravel()  # ascending over all rows
    width = chances.shape[1]
    spot = np.searchsorted(keys, random.random(len(row)) * ends[row, -1] + row * 2, side="right")
    return np.asarray(np.clip(spot - row * width, 0, width - 1))


def _pick_weights(weights: FloatArray, random: np.random.Generator) -> IntArray:
    """Draw a column of every row, by weights of any sum; the first one where all are zero."""
    ends = np.cumsum(weights, axis=1)
    return np.asarray((ends <= random.random(len(ends))[:, None] * ends[:, -1:]).sum(axis=1) % weights.shape[1])
