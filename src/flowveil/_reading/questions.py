"""Questions about zones of a reader's own: trips between them, departures, arrivals, each with bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._errors import InputError
from flowveil._folder import SIDES, Kind, check_operation
from flowveil._options import parse_whole
from flowveil._places import read_zones
from flowveil._reading.bounds import everywhere, lay_areas
from flowveil._reading.estimates import bounds, estimate
from flowveil._reading.frames import as_pandas, shaped_frame
from flowveil._reading.learning import learn
from flowveil._reading.shares import outlined
from flowveil._reading.spots import find_spots
from flowveil._reading.told import in_order, tell
from flowveil._reading.weights import read_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    import geopandas as gpd
    import pandas as pd
    from scipy import sparse

    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._folder import Files
    from flowveil._places import ZonesLike, ZoneTable
    from flowveil._reading.bounds import Certain
    from flowveil._reading.estimates import Block
    from flowveil._reading.frames import Shapes
    from flowveil._reading.told import Told

_LISTED = 0.5  # trips: a pair that no flow touches is listed from so many on
_COLUMNS = ("sure", "likely_low", "estimate", "likely_high", "at_most", "left_out")


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers about zones, one row each, with what is sure, what is likely and the most there can be.

    `table`: the zones (origin and destination, or zone), the columns that divide the release, and

    - `sure`: trips of flows that lie wholly inside; never more than there were
    - `likely_low`, `likely_high`: the truth lies in between in about nine of ten cases
    - `estimate`: flows spread by a model that learns from all of them, and `left_out` of it: an estimate of trips that
      were left out, placed where no flow is, as likely too high as too low. Ask about larger zones; do not add up
    - `at_most`: all flows that touch, and all that was left out; null where the release does not say how much that is

    >>> answers = fv.read_release("release").departures("zones.parquet")
    >>> row = answers.table.to_pylist()[0]
    >>> row["sure"] <= row["estimate"] <= row["at_most"]
    True
    """

    table: pa.Table
    notes: tuple[str, ...] = ()  # what a reader must know
    names: Mapping[str, str] = field(default_factory=dict)  # by zone: what people call it
    shapes: Shapes = field(default_factory=dict)  # by column of zones, by zone: its outline, or a point of each of two

    def __repr__(self) -> str:
        return f"<Answers: {self.table.num_rows:,} rows>"

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a frame of pandas.

        >>> fv.read_release("release").departures("zones.parquet").to_pandas().columns[0]
        'zone'
        """
        return as_pandas(self.table)

    def to_geopandas(self) -> gpd.GeoDataFrame:
        """Return the table as a layer for maps: outlines of zones, or lines between the centers of two.

        >>> fv.read_release("release").departures("zones.parquet").to_geopandas().crs.to_epsg()
        4326
        """
        return shaped_frame(self.table, self.shapes)

    def top(self, count: int = 10) -> Answers:
        """Return the rows with the highest estimates, highest first.

        count: how many rows.

        >>> fv.read_release("release").between("zones.parquet").top(3).table.num_rows
        3
        """
        count = parse_whole(count, "count", "give a whole number from 1 up", 1)
        order = np.argsort(-self.table["estimate"].to_numpy(), kind="stable")[:count]
        return replace(self, table=self.table.take(order))


def ask_between(
    files: Files, zones: ZonesLike, destinations: ZonesLike | None = None, *, weights: ZonesLike | None = None
) -> Answers:
    """Return trips between zones with bounds; destinations: other zones for that end."""
    question = _Question(files, zones, weights, "between", destinations)
    return question.answer((question.zones, question.destinations), list(SIDES))


def ask_departures(files: Files, zones: ZonesLike, *, weights: ZonesLike | None = None) -> Answers:
    """Return trips that start in zones, wherever they end, with bounds."""
    question = _Question(files, zones, weights, "departures")
    return question.answer((question.zones, None), ["zone"])


def ask_arrivals(files: Files, zones: ZonesLike, *, weights: ZonesLike | None = None) -> Answers:
    """Return trips that end in zones, wherever they start, with bounds."""
    question = _Question(files, zones, weights, "arrivals")
    return question.answer((None, question.zones), ["zone"])


class _Question:
    """A release that learned from itself, asked about zones."""

    def __init__(
        self,
        files: Files,
        zones: ZonesLike,
        weights: ZonesLike | None,
        operation: str,
        destinations: ZonesLike | None = None,
    ) -> None:
        check_operation(files.kind, operation)
        self.zones = read_zones(zones, any_id=True)
        self.destinations = self.zones if destinations is None else read_zones(destinations, any_id=True)
        self.told = tell(files, at_any_time=True)
        asked = (self.zones, self.destinations)
        by_weights = weights is None and all(self.told.has_weights_of(each.ids) for each in asked)
        if not by_weights and outlined(self.zones).any() != outlined(self.destinations).any():
            raise InputError("zones of one end have outlines, those of the other have none", "give both, or neither")
        self.by_ids = by_weights or not outlined(self.zones).any()
        spots = find_spots(self.told, by_ids=self.by_ids, coarse=files.kind is Kind.CELLS)
        mass = None if weights is None else read_weights(weights, spots)
        self.learned = learn(self.told, spots, mass)

    def answer(self, zones: tuple[ZoneTable | None, ZoneTable | None], titles: list[str]) -> Answers:
        """Return the answers about zones of both ends; None: anywhere."""
        shares = (self._shares(zones[0]), self._shares(zones[1]))
        certain = (self._certain(0, zones[0]), self._certain(1, zones[1]))
        named = [zone for zone in zones if zone is not None]
        if not all(part.touched.nnz for part in certain) or not all(part.nnz for part in shares):
            raise nothing_between(named[0])
        tables = []
        reached = tuple(np.asarray(share.sum(axis=0)).ravel() > 0 for share in shares)
        limits: dict[int, tuple[FloatArray, FloatArray | None]] = {}
        for block in estimate(self.learned, shares):
            if block.matrix not in limits:
                limits = {block.matrix: bounds(self.learned, certain, block.matrix)}
            dark = ~(reached[0][block.first : block.first + len(block.trips), None] & reached[1])
            tables.append(self._rows(block, limits[block.matrix], dark, zones, titles))
            table = in_order(tables, [*titles, *self.told.keys.column_names])
        shapes = {title: _shapes(zone, points=len(titles) > 1) for title, zone in zip(titles, named, strict=True)}
        return Answers(table, (*guessed_ids(named), *notes_of(self.told)), names_of(named), shapes)

    def _shares(self, zones: ZoneTable | None) -> sparse.csr_array:
        from scipy import sparse  # noqa: PLC0415  slow to import

        return (
            sparse.csr_array(np.ones((len(self.learned.spots), 1)))
            if zones is None
            else self.learned.spots.shares(zones)
        )

    def _certain(self, side: int, zones: ZoneTable | None) -> Certain:
        return (
            everywhere(self.told.ends[side]) if zones is None else lay_areas(self.told, side, zones, by_ids=self.by_ids)
        )

    def _rows(
        self,
        block: Block,
        limits: tuple[FloatArray, FloatArray | None],
        dark: BoolArray,
        zones: tuple[ZoneTable | None, ZoneTable | None],
        titles: list[str],
    ) -> pa.Table:
        """Return one row for each pair of zones that a flow touches, or where half a trip or more is expected.

        Of single zones there is one for each. dark: where no area of the release lies, of which it tells nothing.
        """
        rows = slice(block.first, block.first + len(block.trips))
        sure, most = limits[0][rows], None if limits[1] is None else limits[1][rows]
        middle = block.trips + block.left_out
        low, high = np.maximum(block.low, sure), block.high
        rest = self.told.rest(block.matrix) if not self.told.noisy else None
        touched = sure > 0 if most is None or rest is None else most > np.floor(rest + 1e-6)
        if most is not None and not self.told.noisy:
            high = np.minimum(high, most)
            high = np.where(dark, most, high)
            middle = np.clip(middle, sure, most)  # spots know outlines to a square, bounds know them exactly
        else:
            middle = middle if self.told.noisy else np.maximum(middle, sure)
        if self.told.noisy:
            low, touched = block.low, np.ones(middle.shape, bool)
        row, column = np.nonzero(touched | (middle >= _LISTED) | (len(titles) == 1))
        columns: dict[str, object] = {}
        ends = [(zones[0], row + block.first), (zones[1], column)]
        named = [np.array(table.ids, object)[at] for table, at in ends if table is not None]
        for title, ids in zip(titles, named, strict=True):
            columns[title] = pa.array(ids, pa.string())
        for name in self.told.keys.column_names:
            columns[name] = self.told.keys[name].take(np.full(len(row), block.matrix))
        values = (sure, low, middle, high, most, block.left_out)
        for name, value in zip(_COLUMNS, values, strict=True):
            columns[name] = (
                pa.nulls(len(row), pa.float64()) if value is None else pa.array(value[row, column], pa.float64())
            )
        if self.told.noisy:
            columns["noise"] = pa.array(block.noise[row, column], pa.float64())
        return pa.table(columns)


def _shapes(zones: ZoneTable, *, points: bool) -> dict[str, shapely.Geometry | None]:
    """Return the outline of each zone, or its center, which serves where it has none."""
    centers = np.asarray(shapely.points(zones.lon, zones.lat), object)
    places = centers if points else np.where(outlined(zones), zones.geometry, centers)
    return dict(zip(zones.ids, places.tolist(), strict=True))


def guessed_ids(zones: list[ZoneTable]) -> tuple[str, ...]:
    """Return what to say of zones that are called by a column that nobody named."""
    columns = dict.fromkeys(table.id_guessed for table in zones if table.id_guessed is not None)
    return tuple(f"zones are called by their column {column!r}" for column in columns)


def names_of(zones: list[ZoneTable]) -> dict[str, str]:
    """Return what zones call themselves."""
    names: dict[str, str] = {}
    for table in zones:
        called = [] if table.name_column is None else table.columns[table.name_column]
        names |= {zone: name for zone, name in zip(table.ids, called, strict=False) if name}
    return names


def nothing_between(zones: ZoneTable) -> InputError:
    """Return the error for zones in which nothing lies."""
    if not outlined(zones).any():
        return InputError(
            "the zones have no outlines, and a point has no area that trips could lie in",
            "give zones with polygons, or with the ids of the release's own zones",
        )
    return InputError(
        "no published flow lies between the zones: no area overlaps them at both ends",
        "areas.parquet has the outlines of the areas (longitude first), or the ids of their zones as members",
    )


def notes_of(told: Told) -> tuple[str, ...]:
    """Return what a reader of answers must know of the release."""
    notes = []
    if told.noisy:
        notes.append("counts have noise: sure and at_most hold in 95 of 100 cases, and noise is its standard deviation")
    elif told.left_out is None:
        notes.append("the release does not say how much was left out at most, so at_most is not known")
    elif told.left_out > 0:
        share = told.manifest["promise"]["max_suppression"]
        notes.append(
            f"up to {100 * share:g} % of the trips were left out ({told.left_out:,.0f}); left_out is an estimate for "
            "each row, as likely too high as too low, and does not add up"
        )
    if told.off_by:
        notes.append(f"published numbers may differ from true ones by {told.off_by}; sure and at_most allow for it")
    if told.spans:
        notes.append("time is generalized: answers are about all times together")
    return tuple(notes)
