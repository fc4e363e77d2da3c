"""What a release tells, in one form for every kind that has origins and destinations: flows between areas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import shapely

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import (
    AREAS,
    ELSEWHERE,
    FLOWS,
    NOISE,
    REMAINDER,
    SIDES,
    TIMES,
    TOTAL,
    Kind,
    check_sums,
    key_columns,
    most_error,
)
from flowveil._noise import variance
from flowveil._places import square_kilometers
from flowveil._reading.boxes import flows_of_boxes
from flowveil._reading.marginals import read_marginals, read_zone_weights
from flowveil._reading.parts import Rectangles
from flowveil._remainders import find_layers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._folder import Files, Manifest
    from flowveil._reading.marginals import Marginal

NOWHERE = -1  # an area that is not listed


@dataclass(frozen=True, eq=False)
class Areas:
    """The areas of one end."""

    ids: list[str]
    shapes: npt.NDArray[np.object_]  # None where an area has no outline
    members: list[list[str] | None]
    tiles: FloatArray  # NaN where not known
    lon: FloatArray  # NaN where there is no center
    lat: FloatArray
    names: list[str | None]

    @cached_property
    def row(self) -> dict[str, int]:
        """By id: its number."""
        return {area: number for number, area in enumerate(self.ids)}

    @cached_property
    def sizes(self) -> FloatArray:
        """Square kilometers, or where an area has no outline the number of its zones; 0 where neither is known."""
        counts = [0 if zones is None else len(zones) for zones in self.members]
        sizes = square_kilometers(self.shapes)
        return np.where(np.isfinite(sizes), sizes, counts)

    @cached_property
    def everywhere(self) -> BoolArray:
        """Which areas have neither outline nor zones: the top, and elsewhere."""
        return np.array(
            [shape is None and zones is None for shape, zones in zip(self.shapes, self.members, strict=True)], bool
        )


@dataclass(frozen=True, eq=False)
class Told:
    """Flows between areas, and what a reader must know to add them up."""

    ends: tuple[Areas, Areas]
    origin: IntArray  # by flow: its area
    destination: IntArray
    trips: FloatArray
    variance: FloatArray  # of the noise in it; 0 without noise
    matrix: IntArray  # by flow: which combination of keys it is of
    keys: pa.Table  # by matrix: its keys
    rectangles: Rectangles  # parts of flows; those of a remainder less what finer flows take
    manifest: Manifest
    noisy: bool
    spans: bool  # steps of time differ in length, so that they hold each other
    trips_a_person: float  # of published flows; 1 where persons are not told
    marginals: dict[str, Marginal]  # by place: how trips lie inside boxes; of boxes with noise only
    zone_weights: dict[str, dict[str, float]]  # by end and zone: how trips lie inside areas; with noise only

    def has_weights_of(self, zones: Iterable[str]) -> bool:
        """Whether marginals tell how trips lie in all of these zones, so that ids place them best."""
        known = [weights.keys() for weights in self.zone_weights.values()]
        return bool(known) and all(own.issuperset(zones) for own in map(set, known))

    @property
    def matrices(self) -> int:
        """How many combinations of keys there are; one if nothing divides the flows."""
        return int(self.matrix.max(initial=0)) + 1

    @property
    def off_by(self) -> int:
        """By how much a number without noise may differ from the true one."""
        return most_error(self.manifest["promise"])

    @cached_property
    def elsewhere(self) -> BoolArray:
        """Which flows count trips that were left out."""
        marked = [np.array([area == ELSEWHERE for area in end.ids], bool) for end in self.ends]
        return np.asarray(marked[0][self.origin] | marked[1][self.destination], bool)

    @cached_property
    def total(self) -> BoolArray:
        """Which matrices count all groups together: their trips are in others, too."""
        if "totals" not in self.manifest["promise"]:
            return np.zeros(self.matrices, bool)
        group = self.manifest["options"]["by"][0]
        return np.array([value == TOTAL for value in self.keys[group].to_pylist()], bool)

    @cached_property
    def published(self) -> BoolArray:
        """Which flows count trips that no other flow counts: all but totals over groups."""
        return ~self.total[self.matrix]

    @cached_property
    def counted(self) -> BoolArray:
        """Which flows add up to what was published."""
        return ~self.elsewhere & self.published

    @cached_property
    def left_out(self) -> float | None:
        """The most trips that were left out, of all matrices together; None where nobody says."""
        promise = self.manifest["promise"]
        if self.noisy:
            return 0.0
        if "max_suppression" not in promise:
            return None
        share = float(promise["max_suppression"])
        published = float(self.trips[self.counted].sum()) + self.off_by * int(self.counted.sum())
        return np.inf if share >= 1 else published * share / (1 - share)

    @cached_property
    def single_tiles(self) -> float:
        """Which share of the trips that add up goes between two single tiles."""
        tiles = [end.tiles[areas] for end, areas in zip(self.ends, (self.origin, self.destination), strict=True)]
        single = (tiles[0] == 1) & (tiles[1] == 1) & self.counted
        return float(self.trips[single].sum()) / max(float(self.trips[self.counted].sum()), 1.0)

    @cached_property
    def below(self) -> float:
        """The trips of a flow that has just enough persons, on average; infinity where something else is asked."""
        promise = self.manifest["promise"]
        if self.noisy or "k" not in promise or "k_weight" in promise:
            return np.inf
        return float(promise["k"]) * self.trips_a_person

    def rest(self, matrix: int) -> float | None:
        """Return the most trips that belong to a matrix and are in none of its flows; None where nobody says."""
        left_out = self.left_out
        if left_out is None or not np.isfinite(left_out):
            return None
        in_total = self.total[self.matrix]
        if self.total[matrix]:
            every = float(self.trips[self.counted].sum()) + self.off_by * int(self.counted.sum()) + left_out
            return max(every - float(self.trips[in_total].sum()) + self.off_by * int(in_total.sum()), 0.0)
        return max(left_out - float(self.trips[self.elsewhere & self.published].sum()), 0.0)


def in_order(tables: list[pa.Table], columns: Sequence[str]) -> pa.Table:
    """Return tables as one, sorted by columns."""
    order: list[tuple[str, Literal["ascending", "descending"]]] = [(name, "ascending") for name in columns]
    return pa.concat_tables(tables).sort_by(order)


def tell(files: Files, *, at_any_time: bool = False) -> Told:
    """Return what a release tells; raise InputError if its counts do not add up, or have no origin and destination.

    at_any_time: where steps of time differ in length, and so hold each other, tell of all of them together.
    """
    check_sums(files.manifest)
    if files.kind is Kind.CELLS:
        flows, areas = flows_of_boxes(files)
        keys: list[str] = []
    else:
        flows, areas = files.tables[FLOWS], files.tables[AREAS]
        keys = key_columns(flows, files.manifest)
    ends = (_areas(areas, SIDES[0]), _areas(areas, SIDES[1]))
    rows = [_rows(end, texts(flows[side])) for end, side in zip(ends, SIDES, strict=True)]
    noisy = files.manifest["promise"]["kind"] == NOISE
    nested = set(TIMES) <= set(keys)
    matrix, table = _matrices(flows, [key for key in keys if not (at_any_time and nested and key in TIMES)])
    return Told(
        ends=ends,
        origin=rows[0],
        destination=rows[1],
        trips=flows["trips"].to_numpy().astype(np.float64),
        variance=variance(flows["scale"].to_numpy()) if noisy else np.zeros(flows.num_rows),
        matrix=matrix,
        keys=table,
        rectangles=_rectangles(flows, areas, keys, rows),
        manifest=files.manifest,
        noisy=noisy,
        spans=nested,
        trips_a_person=_trips_a_person(flows, keys),
        marginals=read_marginals(files.tables),
        zone_weights=read_zone_weights(files.tables),
    )


def _trips_a_person(flows: pa.Table, keys: list[str]) -> float:
    """Return the trips of a person on a flow, on average, 1 where persons are not told."""
    if "persons" not in flows.column_names or "persons" in keys:
        return 1.0
    return float(np.sum(flows["trips"].to_numpy())) / max(float(np.sum(flows["persons"].to_numpy())), 1.0)


def _rows(end: Areas, ids: list[str]) -> IntArray:
    """Return the number of each area of flows; every one is listed, or the release is not as the format says."""
    rows = np.array([end.row.get(area, NOWHERE) for area in ids], np.int64)
    if (rows == NOWHERE).any():
        raise InputError("an area of a flow is not listed among the areas", "flowveil verify says what is wrong")
    return rows


def _areas(areas: pa.Table, side: str) -> Areas:
    """Return the areas of one end; elsewhere, which some releases do not list, is added."""
    part = areas.filter(np.array([value == side for value in areas["side"].to_pylist()], bool))
    count = part.num_rows

    def column(name: str) -> list[Any]:  # Any: of the type of the column
        return part[name].to_pylist() if name in part.column_names else [None] * count

    def numbers(name: str) -> FloatArray:
        return np.array([np.nan if value is None else value for value in [*column(name), None]], np.float64)

    shapes = np.full(count + 1, None, object)
    shapes[:count] = shapely.from_wkb(np.array(part["geometry"].to_pylist(), object))
    ids = texts(part["area"])
    extra = ELSEWHERE not in ids
    end = count + extra
    return Areas(
        ids=[*ids, ELSEWHERE][:end],
        shapes=shapes[:end],
        members=[*column("members"), None][:end],
        tiles=numbers("tiles")[:end],
        lon=numbers("lon")[:end],
        lat=numbers("lat")[:end],
        names=[*column("name"), None][:end],
    )


def _matrices(flows: pa.Table, keys: list[str]) -> tuple[IntArray, pa.Table]:
    """Return the matrix of each flow, and the keys of matrices in order of their first flow."""
    number: dict[tuple[object, ...], int] = {}
    first: list[int] = []
    columns = [flows[name].to_pylist() for name in keys]
    matrix = np.zeros(flows.num_rows, np.int64)
    for row, key in enumerate(zip(*columns, strict=True) if keys else [()] * flows.num_rows):
        if key not in number:
            number[key] = len(number)
            first.append(row)
        matrix[row] = number[key]
    return matrix, flows.select(keys).take(first)


def _rectangles(flows: pa.Table, areas: pa.Table, keys: list[str], rows: list[IntArray]) -> Rectangles:
    """Return the parts of flows, sorted by flow: each as a whole, and what finer flows take out of remainders."""
    count = flows.num_rows
    flow, factor, own = np.arange(count), np.ones(count), np.arange(count)
    if REMAINDER in flows.column_names and REMAINDER not in keys:
        inside = find_layers(flows, areas, keys)
        flow, own = np.append(flow, inside.outer), np.append(own, inside.inner)
        factor = np.append(factor, -inside.span)
    order = np.argsort(flow, kind="stable")
    flow, factor, own = flow[order], factor[order], own[order]
    return Rectangles(flow, factor, rows[0][own], rows[1][own])
