"""How near synthetic paths are to true ones: the measures of AdaTrace and PrivTrace, and those of evaluate; private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.clock import MINUTES_PER_DAY, local_minutes

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray

MEANINGS = {
    "queries": "mean relative error of how many users pass a box",
    "density": "where samples are: divergence",
    "trips": "first and last place of a day: divergence",
    "transitions": "from place to place: divergence",
    "patterns": "100 most frequent sequences of two and three places: mean relative error of their support",
    "patterns_missed": "share of these that are not among the 100 most frequent ones",
    "length": "distance traveled by a user: divergence",
    "diameter": "largest distance of two places of a user: divergence",
    "gyration": "radius of gyration of a user: divergence",
    "hull": "area of the convex hull of a user's places: divergence",
    "homes": "where users are most often at night: divergence",
    "works": "where users are most often in working hours: divergence",
    "commutes": "distance from home to work: divergence",
    "hours": "hour of the day: divergence",
    "distinct": "places that a user visits: divergence",
}
_METERS = 1_000  # edge of the squares that are compared
_COARSE = 2  # times that, for pairs of ends
_QUERIES = 200
_SMALLEST_BOX, _LARGEST_BOX = 500, 4_000  # meters
_LEAST_SHARE = 0.01  # of the users: smaller answers count as this
_BINS = 20
_TOP = 100
_NIGHT_FROM, _NIGHT_TO = 22, 6
_WORK_FROM, _WORK_TO = 9, 17


@dataclass(frozen=True, eq=False)
class Traces:
    """Samples of users in the order of users and time, in meters; weight: how many each user stands for."""

    user: IntArray
    minute: IntArray  # local
    x: FloatArray
    y: FloatArray
    weight: IntArray  # by user

    def cells(self, meters: float) -> IntArray:
        """Return the square of each sample as one number."""
        column, row = (np.floor(part / meters).astype(np.int64) for part in (self.x, self.y))
        return column * (1 << 32) + row

    @property
    def follows(self) -> BoolArray:
        """Whether the next sample is of the same user."""
        return np.asarray(np.diff(self.user) == 0)


def make_traces(
    user: IntArray,
    minute: IntArray,
    x: FloatArray,
    y: FloatArray,
    timezone: str = "UTC",
    weight: IntArray | None = None,
) -> Traces:
    """Return samples for comparison; minute: of UTC."""
    _, number = np.unique(user, return_inverse=True)
    number = number.ravel()
    each = np.ones(int(number.max(initial=-1)) + 1, np.int64) if weight is None else weight
    local = local_minutes(minute, timezone)
    order = np.lexsort((local, number))
    return Traces(number[order], local[order], x[order], y[order], each)


def compare(true: Traces, drawn: Traces, seed: int = 0) -> dict[str, float]:
    """Return every measure; 0 is the best."""
    return {
        "queries": _queries(true, drawn, np.random.default_rng(seed)),
        "density": _divergence(*(_spread(each, each.cells(_METERS)) for each in (true, drawn))),
        "trips": _divergence(*(_trips(each) for each in (true, drawn))),
        "transitions": _divergence(*(_transitions(each) for each in (true, drawn))),
        **_patterns(true, drawn),
        "length": _binned(true, drawn, _lengths),
        "diameter": _binned(true, drawn, _diameters),
        "gyration": _binned(true, drawn, _gyrations),
        "hull": _binned(true, drawn, _hulls),
        "homes": _divergence(*(_usual_places(each, _at_night) for each in (true, drawn))),
        "works": _divergence(*(_usual_places(each, _at_work) for each in (true, drawn))),
        "commutes": _binned(true, drawn, _commutes),
        "hours": _divergence(*(_spread(each, each.minute % MINUTES_PER_DAY // 60) for each in (true, drawn))),
        "distinct": _binned(true, drawn, _distinct),
    }


def _divergence(one: dict[object, float], other: dict[object, float]) -> float:
    """Return the Jensen-Shannon divergence of two distributions in bits: 0 for the same, 1 for nothing in common."""
    keys = list({**one, **other})
    p, q = (np.array([part.get(key, 0.0) for key in keys]) for part in (one, other))
    if p.sum() <= 0 or q.sum() <= 0:
        return 1.0
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    halves = [(part[part > 0] * np.log2(part[part > 0] / middle[part > 0])).sum() for part in (p, q)]
    return max(0.0, float(sum(halves)) / 2)


def _tally(keys: IntArray, weight: FloatArray | IntArray) -> dict[object, float]:
    distinct, row = np.unique(keys, axis=0, return_inverse=True)
    sums = np.bincount(row.ravel(), weight, minlength=len(distinct))
    names = distinct.tolist() if distinct.ndim == 1 else map(tuple, distinct.tolist())
    return dict(zip(names, sums.tolist(), strict=True))


def _spread(traces: Traces, keys: IntArray) -> dict[object, float]:
    """Return the weights of keys, each user's adding up to what the user stands for."""
    many = np.bincount(traces.user, minlength=len(traces.weight))
    return _tally(keys, (traces.weight / np.maximum(many, 1))[traces.user])


def _trips(traces: Traces) -> dict[object, float]:
    cells = traces.cells(_COARSE * _METERS)
    day = traces.user * (1 << 32) + traces.minute // MINUTES_PER_DAY
    first = np.flatnonzero(np.diff(day, prepend=-1))
    last = np.append(first[1:], len(day)) - 1
    first, last = first[last > first], last[last > first]
    return _tally(np.column_stack([cells[first], cells[last]]), traces.weight[traces.user[first]])


def _transitions(traces: Traces) -> dict[object, float]:
    cells, here = traces.cells(_METERS), np.flatnonzero(traces.follows)
    many = np.bincount(traces.user[here], minlength=len(traces.weight))
    weight = (traces.weight / np.maximum(many, 1))[traces.user[here]]
    return _tally(np.column_stack([cells[here], cells[here + 1]]), weight)


def _patterns(true: Traces, drawn: Traces) -> dict[str, float]:
    """Return errors of the most frequent sequences; support: the share of users who have it."""
    known, made = _sequences(true), _sequences(drawn)
    top = sorted(known, key=lambda key: (-known[key], str(key)))[:_TOP]
    others = set(sorted(made, key=lambda key: (-made[key], str(key)))[:_TOP])
    errors = [abs(known[key] - made.get(key, 0.0)) / known[key] for key in top]
    return {
        "patterns": float(np.mean(errors)) if errors else 0.0,
        "patterns_missed": sum(key not in others for key in top) / max(len(top), 1),
    }


def _sequences(traces: Traces) -> dict[object, float]:
    cells = traces.cells(_METERS)
    changed = np.flatnonzero(np.append(True, (np.diff(cells) != 0) | ~traces.follows)) if len(cells) else cells
    user, cells = traces.user[changed], cells[changed]
    total = float(traces.weight.sum())
    shares: dict[object, float] = {}
    for length in (2, 3):
        begin = np.flatnonzero(user[: len(user) - length + 1] == user[length - 1 :])
        rows = np.column_stack([user[begin], *(cells[begin + step] for step in range(length))])
        rows = np.unique(rows, axis=0)  # a user counts once
        shares |= _tally(rows[:, 1:], traces.weight[rows[:, 0]] / max(total, 1.0))
    return shares


def _binned(true: Traces, drawn: Traces, measure: object) -> float:
    """Return the divergence of a number of each user, in equal bins up to the largest true one, and one beyond."""
    one, other = (measure(each) for each in (true, drawn))  # type: ignore[operator]
    most = float(np.nanmax(one, initial=0.0)) or 1.0
    parts = []
    for values, traces in ((one, true), (other, drawn)):
        known = ~np.isnan(values)
        bins = np.minimum(np.ceil(values[known] / most * _BINS), _BINS + 1).astype(np.int64)
        parts.append(_tally(bins, traces.weight[known]))
    return _divergence(*parts)


def _lengths(traces: Traces) -> FloatArray:
    here = np.flatnonzero(traces.follows)
    far = np.hypot(traces.x[here + 1] - traces.x[here], traces.y[here + 1] - traces.y[here])
    return np.bincount(traces.user[here], far, minlength=len(traces.weight)).astype(np.float64)


def _gyrations(traces: Traces) -> FloatArray:
    many = np.bincount(traces.user)
    squares = np.zeros(len(many))
    for part in (traces.x, traces.y):
        middle = np.bincount(traces.user, part) / many
        squares += np.bincount(traces.user, (part - middle[traces.user]) ** 2) / many
    return np.sqrt(squares)


def _by_user(traces: Traces) -> list[FloatArray]:
    """Return the distinct places of each user."""
    rows = np.unique(np.column_stack([traces.user, traces.x, traces.y]), axis=0)
    return np.split(rows[:, 1:], np.flatnonzero(np.diff(rows[:, 0])) + 1)


def _diameters(traces: Traces) -> FloatArray:
    """Return the largest distance of two places of each user, between corners of the hull."""
    from scipy.spatial.distance import pdist  # noqa: PLC0415  slow to import

    return np.array([pdist(_corners(places)).max(initial=0.0) for places in _by_user(traces)])


def _corners(places: FloatArray) -> FloatArray:
    """Return places that are extreme in one of many directions: these hold the two that are farthest apart."""
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  slow to import

    if len(places) <= _BINS:
        return places
    try:
        return np.asarray(places[ConvexHull(places).vertices])
    except QhullError:  # all on one line
        return places


def _hulls(traces: Traces) -> FloatArray:
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  slow to import

    areas = []
    for places in _by_user(traces):
        try:
            areas.append(float(ConvexHull(places).volume) if len(places) > 2 else 0.0)
        except QhullError:
            areas.append(0.0)
    return np.array(areas)


def _distinct(traces: Traces) -> FloatArray:
    rows = np.unique(np.column_stack([traces.user, traces.cells(_METERS)]), axis=0)
    return np.bincount(rows[:, 0], minlength=len(traces.weight)).astype(np.float64)


def _at_night(traces: Traces) -> BoolArray:
    hour = traces.minute % MINUTES_PER_DAY // 60
    return np.asarray((hour >= _NIGHT_FROM) | (hour < _NIGHT_TO))


def _at_work(traces: Traces) -> BoolArray:
    hour = traces.minute % MINUTES_PER_DAY // 60
    return np.asarray((hour >= _WORK_FROM) & (hour < _WORK_TO))


def _usual(traces: Traces, when: object) -> FloatArray:
    """Return the most frequent point of each user at some hours (x, y), NaN without a sample then."""
    chosen = when(traces)  # type: ignore[operator]
    rows = np.column_stack([traces.user, traces.x, traces.y])[chosen]
    cells, many = np.unique(rows, axis=0, return_counts=True)
    order = np.lexsort((-many, cells[:, 0]))
    first = order[np.flatnonzero(np.diff(cells[order, 0], prepend=-1))]
    usual = np.full((len(traces.weight), 2), np.nan)
    usual[cells[first, 0].astype(np.int64)] = cells[first, 1:]
    return usual


def _usual_places(traces: Traces, when: object) -> dict[object, float]:
    usual = _usual(traces, when)
    known = ~np.isnan(usual[:, 0])
    return _tally(np.floor(usual[known] / _METERS).astype(np.int64), traces.weight[known])


def _commutes(traces: Traces) -> FloatArray:
    home, work = (_usual(traces, when) for when in (_at_night, _at_work))
    return np.asarray(np.hypot(*(home - work).T))


def _queries(true: Traces, drawn: Traces, random: np.random.Generator) -> float:
    """Return the mean error of counts of users in boxes around true samples, drawn from all samples alike."""
    total = float(true.weight.sum())
    middle = random.integers(len(true.x), size=_QUERIES)
    half = np.exp(random.uniform(np.log(_SMALLEST_BOX), np.log(_LARGEST_BOX), (_QUERIES, 2))) / 2
    errors = []
    for row, (wide, tall) in zip(middle.tolist(), half.tolist(), strict=True):
        counts = []
        for each in (true, drawn):
            inside = (np.abs(each.x - true.x[row]) <= wide) & (np.abs(each.y - true.y[row]) <= tall)
            counts.append(float(each.weight[np.unique(each.user[inside])].sum()) * total / float(each.weight.sum()))
        errors.append(abs(counts[0] - counts[1]) / max(counts[0], _LEAST_SHARE * total))
    return float(np.mean(errors))
