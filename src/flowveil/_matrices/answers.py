"""Asking a release with noise: how many trips from here to there, and how far off the answer may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._arrays import filled
from flowveil._errors import InputError
from flowveil._folder import CELLS, TIMES, check_sums, key_columns
from flowveil._noise import variance
from flowveil._options import parse_bbox, parse_names, parse_pairs, shown
from flowveil._reading import clumping, read_marginals, read_zone_weights, share_inside, unevenness

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._matrices.release import NoisyRelease
    from flowveil._places import BoundingBox
    from flowveil._reading import Marginal

_CONFIDENCE = 1.96  # standard deviations: 95 % for a sum of many noises, a little less than that for a single one
_MUCH = 0.5  # share of an answer from boxes covered in part, beyond which the answer is a guess
_ROUNDING = 1e-6  # in cells: as near to the edge of a cell, a query ends there
_REACH = 0.12  # in widths: tiles of an H3 cell stick out of its outline by at most a fifth of its edge (decision 20)
_EVENLY, _BY_MARGINALS = "spread evenly", "spread as the marginals of each place say"
_MEANING = (
    "Trips are taken to be {} inside boxes that the query covers in part. The likely range holds the noise and what "
    "neighboring boxes tell of how uneven trips are, at about 95 %; the sure range holds the noise at 95 % and every "
    "way in which trips may lie inside these boxes."
)


@dataclass(frozen=True)
class Answer:
    """An estimate of trips, and two ranges for the truth.

    low: the boxes wholly inside, as if no trip of another box lay in the query. high: all trips of all boxes that the
    query touches. Both with the noise at 95 %. likely_low, likely_high: within these, where about 95 % of true answers
    lie if trips are as uneven inside boxes as between neighboring ones.
    """

    estimate: float
    noise: float  # standard deviation of the noise of the estimate
    unevenness: float  # standard deviation of what is unknown of how trips lie inside boxes
    likely_low: float
    likely_high: float
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
    area: IntArray | None = None  # at a single place: the same number for boxes of the same area there

    def also(self, other: _Cover) -> _Cover:
        """Return how boxes lie in both of two queries at different places."""
        return _Cover(self.share * other.share, self.inside & other.inside, self.touched & other.touched)

    def take(self, rows: list[int]) -> _Cover:
        """Return the entries of some rows, which may repeat."""
        return _Cover(self.share[rows], self.inside[rows], self.touched[rows], np.array(rows, np.int64))


def query_noisy(
    written: NoisyRelease,
    *,
    origin: str | Iterable[float] | None = None,
    destination: str | Iterable[float] | None = None,
    stops: Mapping[int, str | Iterable[float]] | Iterable[str | Iterable[float]] | None = None,
    places: Mapping[str, str | Iterable[float]] | Iterable[str] | None = None,
    origin_zones: str | Iterable[str] | None = None,
    destination_zones: str | Iterable[str] | None = None,
    at: Mapping[str, object] | Iterable[str] | None = None,
) -> Answer:
    """Estimate the trips of a release with noise that start, end and stop in boxes (west, south, east, north).

    stops: boxes by the number of the stop, from 1, or in order. places: boxes by the names in the manifest, e.g. of
    frames, or texts NAME=W,S,E,N. A place without a box may be anywhere. origin_zones, destination_zones: in place of
    a box, ids of zones. at: values of time and groups, or texts NAME=VALUE.
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
    at_places: list[_Cover] = []
    marginals = read_marginals(written.tables)
    by_marginals = bool(marginals)
    for side, ids in (("origin", origin_zones), ("destination", destination_zones)):
        if ids is not None:
            by_marginals |= bool(read_zone_weights(written.tables))
            at_places.append(of_zones(written, side, parse_names(ids, f"{side}_zones")))
    if at is not None:
        cover = cover.also(_Cover(*of_keys(written, at)))
    for place, box in boxes.items():
        of_cells = CELLS in written.tables
        one = _of_cells(written, marginals, place, box) if of_cells else _of_areas(written, place, box)
        at_places.append(one)
    for one in at_places:
        cover = cover.also(one)
    return _answer(written, cover, at_places, by_marginals=by_marginals)


def _listed(stops: Iterable[str | Iterable[float]] | None) -> list[str | Iterable[float]]:
    """Return the boxes of stops in order."""
    if isinstance(stops, str) or not isinstance(stops, Iterable | None):
        raise InputError(f"stops are {shown(stops)}", "give a list of boxes, one for each stop, in order")
    return list(stops or ())


def _answer(release: NoisyRelease, cover: _Cover, at_places: Sequence[_Cover], *, by_marginals: bool) -> Answer:
    """Return the sum of the shares of all boxes, and what it can be at least and at most."""

    def total(share: FloatArray | BoolArray) -> tuple[float, float]:
        weight = share.astype(np.float64)
        return float(weight @ release.counts), float(np.sqrt(_noise_of(release, weight)))

    estimate, noise = total(cover.share)
    (least, below), (most, above) = total(cover.inside), total(cover.touched)
    counts = cover.share * release.nonnegative
    whole, part = float(counts[cover.inside].sum()), float(counts[~cover.inside].sum())
    boxes, inside = int(cover.touched.sum()), int(cover.inside.sum())
    # Negative counts may put the ends on the wrong side of the estimate, whose own noise the range holds anyway.
    low = min(least - _CONFIDENCE * below, estimate - _CONFIDENCE * noise)
    high = max(most + _CONFIDENCE * above, estimate + _CONFIDENCE * noise)
    cut, trips = cover.touched & ~cover.inside, release.nonnegative.astype(np.float64)
    uneven = 0.0
    if cut.any():
        clumped = clumping(release.tables, release.manifest)
        ends = [(one.share, one.area) for one in at_places if one.area is not None]
        uneven = unevenness(cover.share, cut, trips, variance(release.scales), clumped, ends)
    away = _CONFIDENCE * float(np.hypot(noise, uneven))
    return Answer(
        estimate=estimate,
        noise=noise,
        unevenness=uneven,
        likely_low=max(estimate - away, low),
        likely_high=min(estimate + away, high),
        low=low,
        high=high,
        partial=part / (whole + part) if whole + part else float(boxes > inside),
        boxes=boxes,
        inside=inside,
        meaning=_MEANING.format(_BY_MARGINALS if by_marginals else _EVENLY) + _counted(release),
        by_marginals=by_marginals,
    )


def _counted(release: NoisyRelease) -> str:
    """Return which trips an answer is about, where a bound left some out; nothing without one."""
    promise = release.manifest["promise"]
    if promise["max_trips_per_person"] is None:
        return ""
    name, _, window = promise["protects"].partition(":")
    span = " in each step of time" if window else f" in each {name.partition('-')[2]}" if "-" in name else ""
    return f" Trips beyond {promise['max_trips_per_person']} of a person{span} are in no number."


def _noise_of(release: NoisyRelease, weight: FloatArray) -> float:
    """Return the variance of the noise of a weighted sum: counts that a stream repeats carry the same noise."""
    spread = variance(release.scales)
    if "drawn" not in release.table.column_names:
        return float(weight**2 @ spread)
    names = ("origin", "destination", "drawn", *release.manifest["options"].get("by", ()))
    rows = zip(*(release.table[name].to_pylist() for name in names), strict=True)
    number: dict[tuple[object, ...], int] = {}
    place = np.array([number.setdefault(row, len(number)) for row in rows], np.int64)
    once = np.zeros(len(number))
    once[place] = spread
    return float(np.bincount(place, weights=weight) ** 2 @ once)


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
    corners = [np.unique(corner @ (options["cells"] + 1, 1), return_inverse=True)[1] for corner in (low, high)]
    area = corners[0] * (len(low) + 1) + corners[1]
    number = np.unique(area, return_inverse=True)[1]
    return _Cover(share, np.asarray(inside.all(axis=1), bool), np.asarray(touched.all(axis=1), bool), number)


def _of_areas(release: NoisyRelease, place: str, box: BoundingBox) -> _Cover:
    """Return how flows lie in a query at one of their ends. All trips lie in the bbox of the release."""
    areas = release.areas.filter(np.array(release.areas["side"].to_pylist()) == place)
    shapes = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
    by_zone = "bbox" not in release.manifest["options"]
    if by_zone:
        shapes = _outlined(shapes, release)
    whole = (-180.0, -90.0, 180.0, 90.0) if by_zone else tuple(release.manifest["options"]["bbox"])
    low, high = (shapely.bounds(shapes)[:, :2], shapely.bounds(shapes)[:, 2:]) if by_zone else _extent(areas, shapes)
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


def _outlined(shapes: npt.NDArray[np.object_], release: NoisyRelease) -> npt.NDArray[np.object_]:
    """Return outlines of areas of zones, of all zones together where an area has none; raise if no zone has one."""
    known = shapely.from_wkb(np.array(release.areas["geometry"].to_pylist(), object))
    lacks = [
        shape is None and bool(zones) for shape, zones in zip(known, release.areas["members"].to_pylist(), strict=True)
    ]
    whole = shapely.union_all([shape for shape in known if shape is not None])
    if any(lacks) or shapely.is_empty(whole):
        raise InputError("zones without outlines cannot be asked about by boxes", "name them with --origin-zones ID,ID")
    return np.array([whole if shape is None else shape for shape in shapes], object)


def of_zones(release: NoisyRelease, side: str, ids: Sequence[str]) -> _Cover:
    """Return how flows lie in zones at one of their ends, by the zones of each area.

    Zones have trips as the marginals say, or all as many.
    """
    if "areas.parquet" not in release.tables or "members" not in release.areas.column_names:
        raise InputError("the release is not about zones", "give a box in their place, e.g. --origin-bbox W,S,E,N")
    areas = release.areas.filter(np.array(release.areas["side"].to_pylist()) == side)
    members = areas["members"].to_pylist()  # none for all zones together
    asked, known = set(ids), {zone for zones in release.areas["members"].to_pylist() for zone in zones or ()}
    if (strange := sorted(asked - known)) and None not in members:
        raise InputError(f"the release knows no zone {strange[0]!r}", "areas.parquet lists zones as members")
    weights = read_zone_weights(release.tables).get(side, {})

    def weigh(zones: Iterable[str]) -> float:
        return float(sum(weights.get(zone, 1.0) for zone in sorted(zones)))

    every = weigh(known | asked | weights.keys())
    share = np.array(
        [
            weigh(asked) / every if zones is None else weigh(asked.intersection(zones)) / weigh(zones)
            for zones in members
        ]
    )
    # How many zones there are in all, a release without marginals may not say.
    whole = np.array([asked.issuperset(weights if zones is None else zones) for zones in members], bool)
    whole &= np.array([bool(zones if zones is not None else weights) for zones in members], bool)
    cover = _Cover(np.where(whole, 1.0, np.minimum(share, 1.0)), whole, share > 0)
    number = {name: row for row, name in enumerate(areas["area"].to_pylist())}
    return cover.take([number[area] for area in release.table[side].to_pylist()])


def of_keys(release: NoisyRelease, at: Mapping[str, object] | Iterable[str]) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return which flows are of a step of time and of groups; an interval of time counts in part."""
    options = release.manifest["options"]
    known = key_columns(release.table, release.manifest) if "areas.parquet" in release.tables else []
    share, inside = np.ones(len(release.counts)), np.ones(len(release.counts), bool)
    for name, value in parse_pairs(at, "at").items():
        if name not in known or name == TIMES[1]:
            said = ", ".join(key for key in known if key != TIMES[1]) or "nothing"
            raise InputError(f"the release is not divided by {name!r}", f"it is divided by: {said}")
        if name == TIMES[0] and TIMES[1] in known:
            raise InputError("time is an axis of this release, whose flows span several steps", "ask about all of time")
        column = [shown_key(each) for each in release.table[name].to_pylist()]
        asked = shown_key(value)
        chosen = np.array([each == asked for each in column], bool)
        listed = options.get("groups", {}).get(name)
        if not chosen.any() and (listed is None or asked not in map(shown_key, listed)):
            raise InputError(f"the release has no {name} {asked!r}", f"it has, e.g., {column[0] if column else 'none'}")
        inside &= chosen
    return share * inside, inside, inside


def shown_key(value: object) -> str:
    """Return a step of time or a group as text: moments as ISO 8601 in UTC, nothing for null."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return "" if value is None else str(value)


def _extent(areas: pa.Table, shapes: npt.NDArray[np.object_]) -> tuple[FloatArray, FloatArray]:
    """Return the corners of boxes that hold all tiles of areas: those of a coarse H3 cell reach out of its outline."""
    bounds = shapely.bounds(shapes)
    low, high = bounds[:, :2], bounds[:, 2:]
    several = filled(areas["tiles"], 0) != 1
    reach = np.where(several[:, None], _REACH * (high - low), 0)
    return low - reach, high + reach
