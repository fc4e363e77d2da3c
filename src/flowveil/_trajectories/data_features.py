"""What of a data set makes it easy to anonymize: its time span, its coverage, its users (paper, section 8.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from flowveil._charts import distributions_svg
from flowveil._errors import InputError, PromiseError
from flowveil._options import parse_bbox, parse_users, parse_whole
from flowveil._trajectories.figures import FEATURE_UNITS, quantiles
from flowveil._trajectories.glove import glove
from flowveil._trajectories.periods import group_each
from flowveil._trajectories.read import check_trajectories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._trajectories.figures import FeatureFigures, PartFigures
    from flowveil._trajectories.glove import Grouping
    from flowveil._trajectories.read import Trajectories

_DAYS = (1, 2, 3, 5, 7, 14)
_SHARES = (0.05, 0.1, 0.25, 0.5, 0.75)
_MINUTES_PER_DAY = 1440
_ALL = "all"


class Part(NamedTuple):
    """A part of the data, anonymized: what its published samples are like, once for each user."""

    users: int
    extent: FloatArray  # meters
    duration: FloatArray  # minutes


@dataclass(frozen=True, eq=False)
class Features:
    """Accuracy after anonymizing parts of the data: figures 16 to 18. Private: computed from true trajectories.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> sorted(fv.trajectories.features(data, 2).parts)
    ['cardinality', 'coverage', 'span']
    """

    NAMES: ClassVar = {"span": "days of the data", "coverage": "a part of the map", "cardinality": "share of the users"}
    PICTURES: ClassVar = tuple(f"{name}-{what}.svg" for name in NAMES for what in ("extent", "duration"))
    k: int
    parts: dict[str, dict[str, Part]]  # by feature, by how much of the data it is

    def figures(self) -> FeatureFigures:
        """Return users, extent (meters) and duration (minutes) of every part.

        >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
        >>> fv.trajectories.features(data, 2).figures()["span"]["all"]["users"]
        20
        """
        return {
            "k": self.k,
            "span": _numbers(self.parts["span"]),
            "coverage": _numbers(self.parts["coverage"]),
            "cardinality": _numbers(self.parts["cardinality"]),
            "units": FEATURE_UNITS,
        }

    def pictures(self) -> dict[str, str]:
        """Return SVG documents by file name.

        >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
        >>> len(fv.trajectories.features(data, 2).pictures())
        6
        """
        pictures = {}
        for name, title in self.NAMES.items():
            for what, unit in (("extent", "meters"), ("duration", "minutes")):
                series = {part: getattr(found, what) for part, found in self.parts[name].items()}
                text = f"{what} of samples, by {title}"
                pictures[f"{name}-{what}.svg"] = distributions_svg(text, unit, series, logarithmic=True)
        return pictures


def _numbers(parts: dict[str, Part]) -> dict[str, PartFigures]:
    return {
        name: {"users": part.users, "extent": quantiles(part.extent), "duration": quantiles(part.duration)}
        for name, part in parts.items()
    }


def features(
    trajectories: Trajectories,
    k: int = 2,
    *,
    within: str | Iterable[float] | None = None,
    seed: int = 0,
    tell: Callable[[str], None] = lambda _: None,
) -> Features:
    """Anonymize parts of the data with GLOVE: its first days, a part of the map, random users; figures 16 to 18.

    trajectories: what `read_trajectories` returns. k: the fewest users of a group. within: a box in degrees (a city of
    a country), by default the middle of the data's box, half as wide and high. seed: of the users that are drawn.
    tell: hears what is being done. A part in which no group of k users can be made is left out.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> list(fv.trajectories.features(data, 2).parts["coverage"])
    ['within', 'all']
    """
    check_trajectories(trajectories)
    k = parse_users(k)
    inside = _inside(trajectories, within)
    random = np.random.default_rng(parse_whole(seed, "seed", "a seed is a whole number, 0 or more", 0))
    tell("anonymizing all of the data")
    whole = _anonymized(trajectories, k)
    if whole is None:
        raise PromiseError(f"no group of {k} users can be made", "give more users, or lower k")
    days, ranks = _first_days(trajectories), random.permutation(len(trajectories))
    spans = {f"{day} {'day' if day == 1 else 'days'}": days < day for day in _DAYS if day <= days.max()}
    shares = {f"{share:.0%}": _of_users(trajectories, ranks, share) for share in _SHARES}
    chosen = {"span": spans, "coverage": {"within": inside}, "cardinality": shares}
    parts: dict[str, dict[str, Part]] = {}
    for feature, masks in chosen.items():
        parts[feature] = {}
        for name, samples in masks.items():
            tell(f"anonymizing {feature} {name}")
            if samples.any() and (part := _anonymized(_select(trajectories, samples), k)) is not None:
                parts[feature][name] = part
        parts[feature][_ALL] = whole
    return Features(k, parts)


def _anonymized(trajectories: Trajectories, k: int) -> Part | None:
    """Return what samples are like after GLOVE; None if no group can be made."""
    try:
        grouping = group_each(trajectories, k, lambda part: glove(part, k))
    except PromiseError:
        return None
    return _part(trajectories, grouping)


def _part(trajectories: Trajectories, grouping: Grouping) -> Part:
    extent, duration = [], []
    for group in grouping.groups:
        t0, t1, x0, x1, y0, y1 = group.samples
        extent.append(np.tile(np.maximum(x1 - x0, y1 - y0), len(group.members)))
        duration.append(np.tile(t1 - t0, len(group.members)))
    grid = trajectories.grid
    users = len(set(trajectories.users))
    return Part(users, np.concatenate(extent) * float(grid.meters), np.concatenate(duration) * float(grid.minutes))


def _select(trajectories: Trajectories, samples: BoolArray) -> Trajectories:
    """Return trajectories of these samples alone; users without one are left out."""
    count = np.bincount(trajectories.owner[samples], minlength=len(trajectories))
    ranks = np.flatnonzero(count)
    return replace(
        trajectories,
        users=tuple(trajectories.users[rank] for rank in ranks.tolist()),
        periods=None if trajectories.periods is None else trajectories.periods[ranks],
        start=np.concatenate([[0], np.cumsum(count[ranks])]),
        t=trajectories.t[samples],
        x=trajectories.x[samples],
        y=trajectories.y[samples],
        rows=trajectories.rows[samples],
    )


def _first_days(trajectories: Trajectories) -> FloatArray:
    """Return for each sample how many whole days after the midnight (UTC) before the first one it is."""
    minutes = trajectories.t * float(trajectories.grid.minutes)
    days: FloatArray = np.floor(minutes / _MINUTES_PER_DAY)
    since: FloatArray = days - days.min()
    return since


def _of_users(trajectories: Trajectories, order: object, share: float) -> BoolArray:
    """Return the samples of a share of the trajectories, the first of a random order."""
    drawn = np.zeros(len(trajectories), bool)
    drawn[np.asarray(order)[: round(share * len(trajectories))]] = True
    samples: BoolArray = drawn[trajectories.owner]
    return samples


def _inside(trajectories: Trajectories, within: str | Iterable[float] | None) -> BoolArray:
    """Return the samples whose cell lies in a box."""
    grid = trajectories.grid
    west, south, east, north = grid.bbox
    if within is None:
        wide, tall = (east - west) / 4, (north - south) / 4
        box = west + wide, south + tall, east - wide, north - tall
    else:
        box = parse_bbox(within)
        if box[0] >= east or box[2] <= west or box[1] >= north or box[3] <= south:
            raise InputError("the box of --within lies outside of --bbox", "give a part of the same map")
    x, y = grid.cells(np.array([box[0], box[2]]), np.array([box[1], box[3]]))
    inside: BoolArray = (trajectories.x >= x[0]) & (trajectories.x <= x[1])
    inside &= (trajectories.y >= y[0]) & (trajectories.y <= y[1])
    return inside
