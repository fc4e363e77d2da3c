"""What a release shows at a glance, in three sentences: computed from the release alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._folder import ELSEWHERE
from flowveil._report.hours import amounts_of
from flowveil._report.scene import NOWHERE

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._report.scene import Key, Scene, Spans

ERROR = math.log(20) / math.sqrt(2)  # Laplace noise is below so many deviations in 95 of 100 cases; sums, in more
_LISTED = 3  # destinations
_MOST_GROUPS = 12  # with more, the largest says little
_LARGE = 1.0  # km2 from which on the size of an area of a grid is told: its name is that of its center


def findings(scene: Scene, *, grid: bool = False, users: str = "users", counted: str = "trips") -> list[str]:
    """Return the strongest flow, where people go from the busiest area, and the busiest time or how uneven it is.

    grid: whether areas are called after their centers. users: what groups of trajectories are made of. counted: what a
    flow counts, in the plural.
    """
    if scene.spans is not None:
        return _of_samples(scene, scene.spans, users)
    scene = scene.without_totals()
    pairs, trips, deviation = _pairs(scene)
    known = np.array([name != ELSEWHERE for name in scene.names], bool)
    inner = known[pairs[:, 0]] & known[pairs[:, 1]] & (pairs[:, 1] != NOWHERE)
    unsure = scene.deviation is not None
    called = _Called(scene, grid, counted)
    found = []
    if inner.any() and trips[inner].max() > 0:
        found += [_strongest(called, pairs[inner], trips[inner], deviation[inner])]
        found += [_onward(called, pairs[inner], trips[inner])]
    times = [_busiest(key, scene.volume, unsure=unsure) for key in scene.keys if key.time]
    groups = [
        _busiest(key, scene.volume, unsure=unsure)
        for key in scene.keys
        if not key.time and len(key.values) <= _MOST_GROUPS
    ]
    if not found and known.any() and len(trips) and trips.max() > 0:
        best = int(np.argmax(trips))
        area, amount = called.at(int(pairs[best, 0])), _amount(int(trips[best]), deviation[best], counted)
        found.append(f"The busiest area is {area}: {amount}.")
    return [*found, *(times or groups or [_uneven(trips, counted, "pairs of areas" if inner.any() else "areas")])][:3]


class _Called(NamedTuple):
    """What the areas of a scene are called in a sentence."""

    scene: Scene
    grid: bool
    counted: str

    def at(self, area: int) -> str:
        """Return the name of an area, with its size where that is large for a name that tells of its center."""
        scene = self.scene
        name = scene.names[area] if scene.labels is None else scene.labels[area]
        size = float(scene.sizes[area])
        if not self.grid or not size >= _LARGE:  # NaN: no outline
            return name
        told = f"{size:,.0f}" if size >= 10 else f"{size:.2g}"
        return f"{name} ({told} km²)" if name == scene.names[area] else f"an area of {told} km² around {name}"

    def stays(self, area: int) -> str:
        """Say that a flow does not leave an area."""
        name = self.at(area)
        return f"stays {name}" if self.grid and name[:1].isdecimal() and " of " in name else f"stays in {name}"


def _of_samples(scene: Scene, spans: Spans, users: str) -> list[str]:
    if not len(scene.origin):
        return []
    groups, first, samples = np.unique(spans.group, return_index=True, return_counts=True)
    sizes = scene.volume[first]
    largest = np.flatnonzero(sizes == sizes.max())
    size, count = f"{sizes[largest[0]]:,} {users}", int(samples[largest[0]])
    shared = f"{count:,} sample{'' if count == 1 else 's'}"
    if len(largest) == 1:
        sentence = f"The largest of {len(groups):,} groups has {size}, who share {shared}."
    else:
        sentence = f"The largest groups, {len(largest):,} of {len(groups):,}, have {size} each."
    hours = (spans.end - spans.start) / 3_600_000_000
    box = float(np.median(scene.sizes[scene.origin]))
    return [
        sentence,
        f"Half of all samples are in boxes of at most {box:,.3g} km².",
        f"Half of all samples span at most {float(np.median(hours)):.3g} hours.",
    ]


def _pairs(scene: Scene) -> tuple[IntArray, IntArray, FloatArray]:
    """Return pairs of areas with their trips, over all times and groups, and the deviation of their noise."""
    ends = np.column_stack([scene.origin, scene.destination])
    pairs, group = np.unique(ends, axis=0, return_inverse=True)
    trips = np.zeros(len(pairs), np.int64)
    np.add.at(trips, group.ravel(), scene.volume)
    noise = np.zeros(len(scene.origin)) if scene.deviation is None else scene.deviation
    return pairs, trips, np.sqrt(np.bincount(group.ravel(), noise**2, len(pairs)))


def _strongest(called: _Called, pairs: IntArray, trips: IntArray, deviation: FloatArray) -> str:
    best = int(np.argmax(trips))
    origin, destination = pairs[best].tolist()
    scene, amount = called.scene, _amount(int(trips[best]), float(deviation[best]), called.counted)
    same = scene.names[origin] == scene.names[destination]
    way = f"goes from {called.at(origin)} to {called.at(destination)}"
    if not scene.keys:
        return f"The strongest flow {called.stays(origin) if same else way}: {amount}."
    # Flows of other times or groups may have other areas: their trips are not in this sum.
    way = f"within {called.at(origin)}" if same else way.removeprefix("goes ")
    return f"Of flows that are published between the same two areas, those {way} have the most: {amount} over all."


def _onward(called: _Called, pairs: IntArray, trips: IntArray) -> str:
    """Say where trips from the busiest origin go."""
    by_origin = np.bincount(pairs[:, 0], trips, len(called.scene.names))
    center = int(np.argmax(by_origin))
    every = np.flatnonzero(pairs[:, 0] == center)
    rows = every[np.argsort(-trips[every], kind="stable")][:_LISTED]
    parts = [
        f"{called.at(int(pairs[row, 1]))} ({100 * trips[row] / by_origin[center]:.0f}\N{NO-BREAK SPACE}%)"
        for row in rows.tolist()
    ]
    word = called.counted
    more, than = (word, "") if len(rows) == len(every) else (f"more {word}", " than to any other area")
    return f"From {called.at(center)}, the busiest origin area, {more} go to {_listed(parts)}{than}."


def _busiest(key: Key, volume: IntArray, *, unsure: bool) -> str:
    values, amounts = amounts_of(key, volume)
    best = int(np.argmax(amounts))
    share = 100 * amounts[best] / max(float(amounts.sum()), 1)
    name = "The busiest time is" if key.time else f"The most trips are of {key.name}"
    about = "about " if unsure or key.steps is not None else ""
    return f"{name} {values[best]}: {about}{amounts[best]:,.0f} trips, which is {share:.0f}\N{NO-BREAK SPACE}% of all."


def _uneven(trips: IntArray, counted: str, among: str) -> str:
    """Say how many of the pairs hold half of the trips."""
    order = np.sort(np.maximum(trips, 0))[::-1]
    total = int(order.sum())
    half = int(np.searchsorted(np.cumsum(order), total / 2)) + 1 if total else 0
    return f"Half of all {counted} are in the strongest {half:,} of {len(trips):,} {among}."


def _amount(trips: int, deviation: float, counted: str) -> str:
    error = f" ± {ERROR * deviation:,.0f}" if deviation > 0 else ""
    return f"{trips:,}{error} {counted.removesuffix('s') if trips == 1 else counted}"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
