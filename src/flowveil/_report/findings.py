"""What a release shows at a glance, in three sentences: computed from the release alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

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


def findings(scene: Scene) -> list[str]:
    """Return the strongest flow, where people go from the busiest area, and the busiest time or how uneven it is."""
    if scene.spans is not None:
        return _of_samples(scene, scene.spans)
    scene = scene.without_totals()
    pairs, trips, deviation = _pairs(scene)
    known = np.array([name != ELSEWHERE for name in scene.names], bool)
    inner = known[pairs[:, 0]] & known[pairs[:, 1]] & (pairs[:, 1] != NOWHERE)
    unsure = scene.deviation is not None
    found = []
    if inner.any() and trips[inner].max() > 0:
        found += [_strongest(scene, pairs[inner], trips[inner], deviation[inner])]
        found += [_onward(scene, pairs[inner], trips[inner])]
    times = [_busiest(key, scene.volume, unsure=unsure) for key in scene.keys if key.time]
    groups = [
        _busiest(key, scene.volume, unsure=unsure)
        for key in scene.keys
        if not key.time and len(key.values) <= _MOST_GROUPS
    ]
    if not found and known.any() and len(trips) and trips.max() > 0:
        best = int(np.argmax(trips))
        found.append(
            f"The busiest area is {_label(scene, int(pairs[best, 0]))}: {_amount(int(trips[best]), deviation[best])}."
        )
    return [*found, *(times or groups or [_uneven(trips, "pairs of areas" if inner.any() else "areas")])][:3]


def _of_samples(scene: Scene, spans: Spans) -> list[str]:
    if not len(scene.origin):
        return []
    groups, first, samples = np.unique(spans.group, return_index=True, return_counts=True)
    sizes = scene.volume[first]
    largest = int(np.argmax(sizes))
    hours = (spans.end - spans.start) / 3_600_000_000
    box = float(np.median(scene.sizes[scene.origin]))
    return [
        f"The largest of {len(groups):,} groups has {sizes[largest]:,} users, who share {samples[largest]:,} samples.",
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


def _strongest(scene: Scene, pairs: IntArray, trips: IntArray, deviation: FloatArray) -> str:
    best = int(np.argmax(trips))
    origin, destination = (_label(scene, int(area)) for area in pairs[best])
    way = f"within {origin}" if origin == destination else f"from {origin} to {destination}"
    return f"The strongest flow goes {way}: {_amount(int(trips[best]), float(deviation[best]))}."


def _onward(scene: Scene, pairs: IntArray, trips: IntArray) -> str:
    """Say where trips from the busiest origin go."""
    by_origin = np.bincount(pairs[:, 0], trips, len(scene.names))
    center = int(np.argmax(by_origin))
    rows = np.flatnonzero(pairs[:, 0] == center)
    rows = rows[np.argsort(-trips[rows], kind="stable")][:_LISTED]
    parts = [
        f"{_label(scene, int(pairs[row, 1]))} ({100 * trips[row] / by_origin[center]:.0f}\N{NO-BREAK SPACE}%)"
        for row in rows.tolist()
    ]
    return f"From {_label(scene, center)}, the busiest origin, trips go most often to {_listed(parts)}."


def _busiest(key: Key, volume: IntArray, *, unsure: bool) -> str:
    values, amounts = amounts_of(key, volume)
    best = int(np.argmax(amounts))
    share = 100 * amounts[best] / max(float(amounts.sum()), 1)
    name = "Most trips begin at" if key.time else f"Most trips are of {key.name}"
    about = "about " if unsure or key.steps is not None else ""
    return f"{name} {values[best]}: {about}{amounts[best]:,.0f}, which is {share:.0f}\N{NO-BREAK SPACE}% of all."


def _uneven(trips: IntArray, counted: str) -> str:
    """Say how many of the pairs hold half of the trips."""
    order = np.sort(np.maximum(trips, 0))[::-1]
    total = int(order.sum())
    half = int(np.searchsorted(np.cumsum(order), total / 2)) + 1 if total else 0
    return f"Half of all trips are in the strongest {half:,} of {len(trips):,} {counted}."


def _label(scene: Scene, area: int) -> str:
    return scene.names[area] if scene.labels is None else scene.labels[area]


def _amount(trips: int, deviation: float) -> str:
    error = f" ± {ERROR * deviation:,.0f}" if deviation > 0 else ""
    return f"{trips:,}{error} {'trip' if trips == 1 else 'trips'}"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
