"""The k-gap: how far each trajectory is from being shared by k users (paper, sections 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from flowveil._charts import distributions_svg
from flowveil._errors import InputError
from flowveil._options import check_flag, parse_wholes
from flowveil._trajectories.figures import GAP_UNITS, quantiles
from flowveil._trajectories.glove import choose_kernel
from flowveil._trajectories.periods import split
from flowveil._trajectories.pool import Pool
from flowveil._trajectories.read import check_trajectories

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._trajectories.figures import GapFigures
    from flowveil._trajectories.read import Trajectories

DEFAULT_KS = (2, 5, 10)
Name = TypeVar("Name", int, str)
# Steps of the paper's figure 8, from the finest to an uninformative one: meters and minutes.
_COARSER = ((1_000, 30), (2_500, 60), (5_000, 120), (10_000, 240), (20_000, 480))
_NORMAL_TAIL = 2.3263 / 0.6745  # the same ratio of quantiles for a normal distribution


@dataclass(frozen=True, eq=False)
class Gap:
    """k-gaps of all users, and what they are made of. Private: computed from true trajectories.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> gaps = fv.trajectories.gap(data, [2], generalize=False)
    >>> len(gaps.gaps[2])
    20
    """

    PICTURES: ClassVar = ("gap.svg", "parts.svg", "tails.svg", "generalized.svg")
    gaps: dict[int, FloatArray]  # by k, one value a user
    space: FloatArray  # each user's mean spatial part of the stretch to the nearest other, at most its weight
    time: FloatArray
    tail_weight: dict[str, FloatArray]  # total, space, time: one value a user, NaN where there is no spread
    generalized: dict[str, FloatArray] = field(default_factory=dict)  # 2-gaps after uniform generalization

    def figures(self) -> GapFigures:
        """Return the distributions as numbers.

        >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
        >>> gaps = fv.trajectories.gap(data, [2], generalize=False)
        >>> round(gaps.figures()["gap"]["2"]["median"], 3)
        0.099
        """
        total = self.space + self.time
        share = self.time[total > 0] / total[total > 0]
        ratio = self.time[self.space > 0] / self.space[self.space > 0]
        return {
            "users": len(self.space),
            "gap": {str(k): quantiles(values) for k, values in self.gaps.items()},
            "space_part": quantiles(self.space),
            "time_part": quantiles(self.time),
            "tail_weight": {name: quantiles(values) for name, values in self.tail_weight.items()},
            "heavy_tails": {name: _share(values >= 1.6, values) for name, values in self.tail_weight.items()},
            "time_to_space": quantiles(ratio),
            "time_share": quantiles(share),
            "generalized": {
                name: quantiles(values) | {"anonymous": float((values == 0).mean())}
                for name, values in self.generalized.items()
            },
            "units": GAP_UNITS,
        }

    def pictures(self) -> dict[str, str]:
        """Return SVG documents by file name.

        >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
        >>> sorted(fv.trajectories.gap(data, [2], generalize=False).pictures())
        ['gap.svg', 'parts.svg', 'tails.svg']
        """
        shown = {f"k = {k}": values for k, values in self.gaps.items()}
        parts = {"space": self.space, "time": self.time}
        tails = {name: np.clip(values, 0, 20) for name, values in self.tail_weight.items()}
        pictures = {
            "gap.svg": distributions_svg("k-gap", "mean stretch to the k-1 nearest users", shown),
            "parts.svg": distributions_svg("parts of the stretch to the nearest user", "stretch", parts),
            "tails.svg": distributions_svg("tail weight (1.6 is exponential)", "tail weight index, up to 20", tails),
        }
        if self.generalized:
            pictures["generalized.svg"] = distributions_svg(
                "2-gap after uniform generalization", "stretch to the nearest user", self.generalized
            )
        return pictures


def parse_ks(value: object) -> list[int]:
    """Return several k."""
    return parse_wholes(value, "k", "write it like -k 2,5,10")


def gap(
    trajectories: Trajectories,
    ks: str | Sequence[int] = DEFAULT_KS,
    *,
    generalize: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Gap:
    """Measure the k-gap of every user (Eq. 11) for several k, and the parts of its stretch to the nearest other.

    trajectories: what `read_trajectories` returns. ks: numbers of users, each 2 or more. generalize: also measure what
    uniformly coarser places and times would do. tell: hears what is being done.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> gaps = fv.trajectories.gap(data, ks=[2, 5], generalize=False)
    >>> bool((gaps.gaps[2] <= gaps.gaps[5]).all())
    True
    """
    check_trajectories(trajectories)
    ks = parse_ks(ks)
    check_flag(generalize, "generalize")
    if not ks or min(ks) < 2 or max(ks) > len(trajectories):
        raise InputError(
            f"k-gaps cannot be measured for k = {', '.join(map(str, ks))}",
            f"give k from 2 to the number of users, {len(trajectories)}",
        )
    parts = [part for _, part in split(trajectories) if len(part) >= max(ks)]
    if not parts:
        raise InputError(f"no {trajectories.cut_into} has {max(ks)} users", "give lower k, or cut into longer periods")
    return _joined([_measure(part, ks, tell, generalize=generalize) for part in parts])


def _joined(gaps: list[Gap]) -> Gap:
    """Return the gaps of all periods together."""
    if len(gaps) == 1:
        return gaps[0]

    def join(choose: Callable[[Gap], dict[Name, FloatArray]]) -> dict[Name, FloatArray]:
        return {name: np.concatenate([choose(gap)[name] for gap in gaps]) for name in choose(gaps[0])}

    return Gap(
        join(lambda gap: gap.gaps),
        np.concatenate([gap.space for gap in gaps]),
        np.concatenate([gap.time for gap in gaps]),
        join(lambda gap: gap.tail_weight),
        join(lambda gap: gap.generalized),
    )


def _measure(trajectories: Trajectories, ks: Sequence[int], tell: Callable[[str], None], *, generalize: bool) -> Gap:
    """Measure trajectories that can all be grouped with each other."""
    tell(f"comparing {len(trajectories):,} trajectories")
    values, ids = nearest_others(trajectories, max(ks) - 1)
    space, time, tails = _parts(trajectories, ids[:, 0])
    generalized = {}
    if generalize:
        grid = trajectories.grid
        generalized[f"{grid.meters / 1000:g} km, {grid.minutes} min"] = values[:, 0]
        for meters, minutes in _COARSER:
            if (
                meters > grid.meters
                and minutes > grid.minutes
                and not (grid.caps[0] % meters or grid.caps[1] % minutes)
            ):
                tell(f"generalizing to {meters} m and {minutes} min")
                coarse = coarsen(trajectories, meters, minutes)
                generalized[f"{meters / 1000:g} km, {minutes} min"] = nearest_others(coarse, 1)[0][:, 0]
    gaps = {k: values[:, : k - 1].mean(axis=1) for k in sorted(set(ks))}
    return Gap(gaps, space, time, tails, generalized)


def nearest_others(trajectories: Trajectories, count: int) -> tuple[FloatArray, IntArray]:
    """Return stretch and rank of the `count` nearest other users of each user, in order."""
    from flowveil._trajectories import nearest  # noqa: PLC0415  numba is slow to import
    from flowveil._trajectories.neighbors import Workers  # noqa: PLC0415  numba is slow to import

    pool, users = Pool(trajectories, 2), len(trajectories)
    pool.sweep = choose_kernel(pool)
    values, ids = np.full((users, count), np.inf), np.full((users, count), -1)
    state = pool.state()

    def search(first: int, step: int) -> None:
        for row in range(first, users, step):
            nearest.list_row(state, row, 0, 1, values[row], ids[row])

    workers = Workers()
    try:
        workers.run(search, users)
    finally:
        workers.close()
    return values, ids


def coarsen(trajectories: Trajectories, meters: int, minutes: int) -> Trajectories:
    """Return the same trajectories on a coarser grid; samples that become equal count once."""
    grid = trajectories.grid
    table = np.stack(
        [
            trajectories.owner,
            trajectories.t * grid.minutes // minutes,
            trajectories.x * grid.meters // meters,
            trajectories.y * grid.meters // meters,
        ]
    )
    table, first = np.unique(table, axis=1, return_index=True)
    return replace(
        trajectories,
        grid=replace(grid, meters=meters, minutes=minutes),
        start=np.searchsorted(table[0], np.arange(len(trajectories) + 1)),
        t=table[1],
        x=table[2],
        y=table[3],
        rows=np.ones(len(first), np.int64),
    )


def _parts(trajectories: Trajectories, nearest: IntArray) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
    """Return each user's mean spatial and temporal part to the nearest other, and the tail weights of both."""
    from flowveil._trajectories.merge import nearest_samples  # noqa: PLC0415  numba is slow to import

    grid, start = trajectories.grid, trajectories.start
    weight = sum(grid.weights)
    points = np.stack([trajectories.t, trajectories.x, trajectories.y])
    pool_limits = Pool(trajectories, 2).limits_whole
    space, time = np.zeros(len(trajectories)), np.zeros(len(trajectories))
    tails = {name: np.full(len(trajectories), np.nan) for name in ("total", "space", "time")}
    for user, other in enumerate(nearest.tolist()):
        own, others = points[:, start[user] : start[user + 1]], points[:, start[other] : start[other + 1]]
        match = others[:, nearest_samples(own, others, pool_limits)]
        in_time = np.minimum(np.abs(own[0] - match[0]) / grid.time_limit, 1) * grid.weights[1] / weight
        in_space = np.minimum(np.abs(own[1:] - match[1:]).sum(axis=0) / grid.space_limit, 1) * grid.weights[0] / weight
        space[user], time[user] = in_space.mean(), in_time.mean()
        for name, parts in (("total", in_space + in_time), ("space", in_space), ("time", in_time)):
            tails[name][user] = tail_weight(parts)
    return space, time, tails


def tail_weight(values: FloatArray) -> float:
    """Return Hoaglin's index: how far the 99th percentile lies from the median, in quartiles, against a normal one.

    >>> round(tail_weight(np.log(1 / (1 - (np.arange(10_000) + 0.5) / 10_000))), 1)
    1.6
    """
    middle, quartile, tail = np.quantile(values, (0.5, 0.75, 0.99))
    return float((tail - middle) / (quartile - middle) / _NORMAL_TAIL) if quartile > middle else float("nan")


def _share(true: BoolArray, values: FloatArray) -> float | None:
    known = np.isfinite(values)
    return float(true[known].mean()) if known.any() else None
