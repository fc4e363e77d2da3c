"""Asking a release with noise: how many trips from here to there, and how far off the answer may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._arrays import filled
from flowveil._errors import InputError
from flowveil._folder import CELLS, check_sums
from flowveil._noise import variance
from flowveil._options import parse_bbox, parse_pairs, shown
from flowveil._reading import read_marginals, share_inside

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._matrices.release import NoisyRelease
    from flowveil._places import BoundingBox
    from flowveil._reading import Marginal

_CONFIDENCE = 1.96  # standard deviations: 95 % for a sum of many noises, a little less than that for a single one
_MUCH = 0.5  # share of an answer from boxes covered in part, beyond which the answer is a guess
_ROUNDING = 1e-6  # in cells: as near to the edge of a cell, a query ends there
_REACH = 0.12  # in widths: tiles of an H3 cell stick out of its outline by at most a fifth of its edge (decision 20)
_EVENLY, _BY_MARGINALS = "spread evenly", "spread as the marginals of each place say"
_MEANING = (
    "Trips are taken to be {} inside boxes that the query covers in part. The range holds the noise at 95 % "
    "and every way in which trips may lie inside these boxes."
)


@dataclass(frozen=True)
class Answer:
    """An estimate of trips, and a range for the truth.

    low: the boxes wholly inside, as if no trip of another box lay in the query. high: all trips of all boxes that the
    query touches. Both with the noise at 95 %.
    """

    estimate: float
    noise: float  # standard deviation of the noise of the estimate
    low: float
    high: float
    partial: float  # share of the estimate, 0 to 1, from boxes that the query covers in part
    boxes: int  # boxes that the query touches
    inside: int  # of these, boxes wholly inside
    meaning: str = _MEANING.format(_EVENLY)
    by_marginals: bool = False  # how trips lie inside boxes was counted, with noise, for each place by itself

    @property
    def warning(self) -> str | None:
        """Why the estimate is little more than a guess, None if it is not."""
        how = _BY_MARGINALS if self.by_marginals else _EVENLY
        evenly = f"the answer rests on the assumption that trips are {how} inside boxes"
        if not self.boxes:
            return "unknown: the boxes lie outside of the bbox of the release, about which it says nothing"
        if not self.inside:
            return f"none of the boxes lies inside the place asked for: {evenly}"
        if self.partial > _MUCH:
            return f"{self.partial:.0%} of the answer is from boxes that lie inside only in part: {evenly}"
        return None


@dataclass(frozen=True, eq=False)
class _Cover:
    """How boxes lie in a query, one entry a box."""

    share: FloatArray  # of its size
    inside: BoolArray  # all of its trips lie in the query
    touched: BoolArray  # some of its trips may lie in the query

    def also(self, other: _Cover) -> _Cover:
        """Return how boxes lie in both of two queries at different places."""
        return _Cover(self.share * other.share, self.inside & other.inside, self.touched & other.touched)

    def take(self, rows: list[int]) -> _Cover:
        """Return the entries of some rows, which may repeat."""
        return _Cover(self.share[rows], self.inside[rows], self.touched[rows])


def query_noisy(
    written: NoisyRelease,
    *,
    origin: str | Iterable[float] | None = None,
    destination: str | Iterable[float] | None = None,
    stops: Mapping[int, str | Iterable[float]] | Iterable[str | Iterable[float]] | None = None,
    places: Mapping[str, str | Iterable[float]] | Iterable[str] | None = None,
) -> Answer:
    """Estimate the trips of a release with noise that start, end and stop in boxes (west, south, east, north).

    stops: boxes by the number of the stop, from 1, or in order. places: boxes by the names in the manifest, e.g. of
    frames, or texts NAME=W,S,E,N. A place without a box may be anywhere.
    """
    numbered = stops if isinstance(stops, Mapping) else dict(enumerate(_listed(stops), start=1))
    wanted = {"origin": origin, "destination": destination} | {f"stop {at}": box for at, box in numbered.items()}
    wanted |= parse_pairs(places or {}, "place_bbox")
    boxes = {name: parse_bbox(box) for name, box in wanted.items() if box is not None}
    check_sums(written.manifest)
    known = written.manifest["options"].get("places", ["origin", "destination"])
    for name in boxes:
        if name not in known:
            raise InputError(f"the release knows no {name}", f"it knows: {', '.join(known)}")
    everywhere = np.ones(len(written.counts), bool)
    cover = _Cover(everywhere.astype(np.float64), everywhere, everywhere)
    marginals = read_marginals(written.tables)
    for place, box in boxes.items():
        of_cells = CELLS in written.tables
        one = _of_cells(written, marginals, place, box) if of_cells else _of_areas(written, place, box)
        cover = cover.also(one)
    return _answer(written, cover, by_marginals=bool(marginals))


def _listed(stops: Iterable[str | Iterable[float]] | None) -> list[str | Iterable[float]]:
    """Return the boxes of stops in order."""
    if isinstance(stops, str) or not isinstance(stops, Iterable | None):
        raise InputError(f"stops are {shown(stops)}", "give a list of boxes, one for each stop, in order")
    return list(stops or ())


def _answer(release: NoisyRelease, cover: _Cover, *, by_marginals: bool) -> Answer:
    """Return the sum of the shares of all boxes, and what it can be at least and at most."""

    def total(share: FloatArray | BoolArray) -> tuple[float, float]:
        weight = share.astype(np.float64)
        return float(weight @ release.counts), float(np.sqrt(weight**2 @ variance(release.scales)))

    estimate, noise = total(cover.share)
    (least, below), (most, above) = total(cover.inside), total(cover.touched)
    counts = cover.share * release.nonnegative
    whole, part = float(counts[cover.inside].sum()), float(counts[~cover.inside].sum())
    boxes, inside = int(cover.touched.sum()), int(cover.inside.sum())
    return Answer(
        estimate=estimate,
        noise=noise,
        # Negative counts may put the ends on the wrong side of the estimate, whose own noise the range holds anyway.
        low=min(least - _CONFIDENCE * below, estimate - _CONFIDENCE * noise),
        high=max(most + _CONFIDENCE * above, estimate + _CONFIDENCE * noise),
        partial=part / (whole + part) if whole + part else float(boxes > inside),
        boxes=boxes,
        inside=inside,
        meaning=_MEANING.format(_BY_MARGINALS if by_marginals else _EVENLY),
        by_marginals=by_marginals,
    )


def _of_cells(release: NoisyRelease, marginals: Mapping[str, Marginal], place: str, box: BoundingBox) -> _Cover:
    """Return how the boxes of cells lie in a query at one place."""
    options = release.manifest["options"]
    west, south, east, north = options["bbox"]
    first = 2 * options["places"].index(place)
    low, high = (corner[:, first : first + 2] for corner in release.corners())
    start, size = np.array([west, south]), np.array([east - west, north - south])
    begin, end = ((np.array(edges) - start) / size * options["cells"] for edges in (box[:2], box[2:]))
    begin, end = (np.where(abs(edge - np.rint(edge)) < _ROUNDING, np.rint(edge), edge) for edge in (begin, end))
    share = share_inside(marginals.get(place), low, high, begin, end)
    inside, touched = (begin <= low) & (high <= end), (begin < high) & (low < end)
    return _Cover(share, np.asarray(inside.all(axis=1), bool), np.asarray(touched.all(axis=1), bool))


def _of_areas(release: NoisyRelease, place: str, box: BoundingBox) -> _Cover:
    """Return how flows lie in a query at one of their ends. All trips lie in the bbox of the release."""
    areas = release.areas.filter(np.array(release.areas["side"].to_pylist()) == place)
    whole = tuple(release.manifest["options"]["bbox"])
    shapes = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
    low, high = _extent(areas, shapes)
    low, high = (np.clip(corner, whole[:2], whole[2:]) for corner in (low, high))
    inside = shapely.clip_by_rect(shapes, *whole)
    size = shapely.area(inside)
    part = shapely.area(shapely.clip_by_rect(inside, *box)) / np.where(size > 0, size, 1)
    # An area that only touches the edge of the bbox counts where its center comes nearest to the bbox.
    center = np.column_stack([areas["lon"].to_numpy(), areas["lat"].to_numpy()])
    center = np.clip(center, whole[:2], whole[2:])
    nearest = ((box[:2] <= center) & (center <= box[2:])).all(axis=1)
    cover = _Cover(
        np.where(size > 0, part, nearest),
        np.asarray(((low >= box[:2]) & (high <= box[2:])).all(axis=1), bool),
        np.asarray(((low <= box[2:]) & (high >= box[:2])).all(axis=1), bool),
    )
    number = {name: row for row, name in enumerate(areas["area"].to_pylist())}
    return cover.take([number[area] for area in release.table[place].to_pylist()])


def _extent(areas: pa.Table, shapes: npt.NDArray[np.object_]) -> tuple[FloatArray, FloatArray]:
    """Return the corners of boxes that hold all tiles of areas: those of a coarse H3 cell reach out of its outline."""
    bounds = shapely.bounds(shapes)
    low, high = bounds[:, :2], bounds[:, 2:]
    several = filled(areas["tiles"], 0) != 1
    reach = np.where(several[:, None], _REACH * (high - low), 0)
    return low - reach, high + reach
