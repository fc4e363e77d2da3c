"""Asking a release with noise: how many trips from here to there, and how far off the noise may have put the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil.matrices._read import read_noisy
from flowveil.noise import variance
from flowveil.places import parse_bbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from flowveil._arrays import FloatArray
    from flowveil.matrices._read import WrittenRelease
    from flowveil.places import BoundingBox

_CONFIDENCE = 1.96  # standard deviations: 95 % for a sum of many noises, a little less than that for a single one
_MEANING = (
    "The error bar covers the noise only. Trips are taken to be spread evenly inside each box; how far that is from "
    "the truth cannot be told from the release."
)


@dataclass(frozen=True)
class Answer:
    """An estimate of trips, the standard deviation of its noise, and a 95 % interval for the noise alone."""

    estimate: float
    noise: float
    low: float
    high: float
    boxes: int  # boxes that the query touches
    meaning: str = _MEANING


def query(
    release: str | Path,
    *,
    origin: str | Iterable[float] | None = None,
    destination: str | Iterable[float] | None = None,
    stops: Mapping[int, str | Iterable[float]] | None = None,
    places: Mapping[str, str | Iterable[float]] | None = None,
) -> Answer:
    """Estimate the trips of a release with noise that start, end and stop in boxes (west, south, east, north).

    stops: boxes by the number of the stop, from 1. places: boxes by the names in the manifest, e.g. of frames. A place
    without a box may be anywhere.
    """
    written = read_noisy(release)
    if written.positive_only:
        raise InputError(
            "this release lists only counts above zero, so sums over it are too large",
            "read its flows one by one, or release with noisy-mosaic to ask for sums",
        )
    wanted = {"origin": origin, "destination": destination}
    wanted |= {f"stop {number}": box for number, box in (stops or {}).items()} | dict(places or {})
    boxes = {name: parse_bbox(box) for name, box in wanted.items() if box is not None}
    known = written.manifest["options"].get("places", ["origin", "destination"])
    for name in boxes:
        if name not in known:
            raise InputError(f"the release knows no {name}", f"it knows: {', '.join(known)}")
    share = _cell_shares(written, boxes) if written.areas is None else _area_shares(written, boxes)
    estimate = float(share @ written.counts)
    noise = float(np.sqrt((share**2) @ variance(written.scales)))
    return Answer(
        estimate=estimate,
        noise=noise,
        low=estimate - _CONFIDENCE * noise,
        high=estimate + _CONFIDENCE * noise,
        boxes=int((share > 0).sum()),
    )


def _cell_shares(release: WrittenRelease, boxes: Mapping[str, BoundingBox]) -> FloatArray:
    """Return which share of each box of cells lies in the query."""
    options = release.manifest["options"]
    west, south, east, north = options["bbox"]
    low, high = release.corners()
    share = np.ones(len(low))
    for number, place in enumerate(options["places"]):
        if place not in boxes:
            continue
        edges = boxes[place]
        for axis, start, end, first, last in (
            (2 * number, west, east, edges[0], edges[2]),
            (2 * number + 1, south, north, edges[1], edges[3]),
        ):
            begin = (first - start) / (end - start) * options["cells"]
            finish = (last - start) / (end - start) * options["cells"]
            overlap = np.minimum(high[:, axis], finish) - np.maximum(low[:, axis], begin)
            share *= np.maximum(overlap, 0) / (high[:, axis] - low[:, axis])
    return share


def _area_shares(release: WrittenRelease, boxes: Mapping[str, BoundingBox]) -> FloatArray:
    """Return which share of each flow lies in the query: of its origin area times of its destination area."""
    share = np.ones(len(release.counts))
    whole = tuple(release.manifest["options"]["bbox"])
    if release.areas is None:
        return share
    for place, box in boxes.items():
        areas = release.areas.filter(np.array(release.areas["side"].to_pylist()) == place)
        shapes = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
        inside = shapely.clip_by_rect(shapes, *whole)
        size = shapely.area(inside)
        part = shapely.area(shapely.clip_by_rect(inside, *box)) / np.where(size > 0, size, 1)
        # An area that only touches the edge of the bbox counts where its centre comes nearest to the bbox.
        lon = np.clip(areas["lon"].to_numpy(), whole[0], whole[2])
        lat = np.clip(areas["lat"].to_numpy(), whole[1], whole[3])
        nearest = (box[0] <= lon) & (lon <= box[2]) & (box[1] <= lat) & (lat <= box[3])
        part = np.where(size > 0, part, nearest)
        names = dict(zip(areas["area"].to_pylist(), part.tolist(), strict=True))
        share *= np.array([names[area] for area in release.table[place].to_pylist()])
    return share
