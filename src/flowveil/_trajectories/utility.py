"""What people do with trajectories, done on the original and on the released ones (paper, section 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray

# Hours of the day, local time: nights from 22 to 6, working hours from 9 to 17.
_NIGHT_FROM, _NIGHT_TO = 22, 6
_WORK_FROM, _WORK_TO = 9, 17
_MINUTES_PER_HOUR = 60

TASKS = {
    "center": "distance of the centers of mass, meters",
    "home": "distance of the most frequent places at night, meters",
    "work": "distance of the most frequent places in working hours, meters",
    "travel": "travel distance, released over original",
    "gyration": "radius of gyration, released over original",
    "hull": "area of the convex hull, released over original",
}


def compare_tasks(before: FloatArray, after: FloatArray) -> dict[str, float]:
    """Return the error of each task for one user.

    before, after: rows of (minutes of the local clock since 1970, x, y in meters), in the order of time; a released
    sample stands for its middle. NaN where a task cannot be done, or a ratio has no base; two zeros are a ratio of 1.
    """
    places = {"home": _is_night, "work": _is_work}
    errors = {"center": _distance(before[:, 1:].mean(axis=0), after[:, 1:].mean(axis=0))}
    for name, when in places.items():
        errors[name] = _distance(_usual_place(before, when), _usual_place(after, when))
    for name, measure in (("travel", _travel), ("gyration", _gyration), ("hull", _hull)):
        base, now = measure(before[:, 1:]), measure(after[:, 1:])
        errors[name] = now / base if base > 0 else (1.0 if now == 0 else float("nan"))
    return errors


def _is_night(hour: FloatArray) -> BoolArray:
    return (hour >= _NIGHT_FROM) | (hour < _NIGHT_TO)


def _is_work(hour: FloatArray) -> BoolArray:
    return (hour >= _WORK_FROM) & (hour < _WORK_TO)


def _usual_place(points: FloatArray, when: object) -> FloatArray | None:
    hour = points[:, 0] // _MINUTES_PER_HOUR % 24
    chosen = points[when(hour)]  # type: ignore[operator]
    if not len(chosen):
        return None
    places, count = np.unique(chosen[:, 1:], axis=0, return_counts=True)
    place: FloatArray = places[count.argmax()]
    return place


def _distance(one: FloatArray | None, other: FloatArray | None) -> float:
    return float("nan") if one is None or other is None else float(np.hypot(*(one - other)))


def _travel(places: FloatArray) -> float:
    return float(np.hypot(*np.diff(places, axis=0).T).sum())


def _gyration(places: FloatArray) -> float:
    return float(np.sqrt(((places - places.mean(axis=0)) ** 2).sum(axis=1).mean()))


def _hull(places: FloatArray) -> float:
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  slow to import

    distinct = np.unique(places, axis=0)
    try:
        return float(ConvexHull(distinct).volume) if len(distinct) > 2 else 0.0
    except QhullError:  # all on one line
        return 0.0
