"""What an input was understood to be, before anything is made of it."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._describe.figures import Figures, find_totals, measure
from flowveil._engine import Request, describe_source, find_zones, look_at_clock
from flowveil._errors import DroppedRowsWarning, ImplausiblePlacesWarning, InputError
from flowveil._flows import build_flows
from flowveil._options import parse_wholes
from flowveil._trips import COORDINATES, ZONES, Trips, read_trips

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flowveil._flows import Flows
    from flowveil._places import ZonesLike
    from flowveil._trips import TripsLike

KS = (2, 5, 10, 20)
_SAMPLE = 20  # rows in which a time is looked for


@dataclass(frozen=True)
class Times:
    """When trips start."""

    first: str | None
    last: str | None
    utc: bool  # else as a local clock shows them
    span_days: float
    hours_covered: int  # in which a trip starts
    unusable: int  # rows without a time that can be used


@dataclass(frozen=True)
class Description:
    """What was understood of an input. All of it is private: figures are exact, and a time is shown as it is written.

    >>> told = fv.describe("trips.parquet", grid="h3:7", unit="person_id")
    >>> told.source["format"], told.rows, told.figures.persons
    ('Parquet', 2000, 100)
    """

    source: dict[str, str | int]  # format, files, bytes, encoding
    layout: str | None
    columns: dict[str, str]  # meaning -> column
    computed: dict[str, tuple[str, ...]]  # columns that the input does not have: of which others they are computed
    other_columns: tuple[str, ...]
    unit: str | None  # the column whose values are counted as persons
    possible_unit: str | None  # the one that the layout has
    crs: str | None  # of coordinates
    places: str | None  # between what trips are counted
    time_sample: str | None  # as it is written
    times: Times | None
    rows: int | None
    usable: int | None
    dropped: dict[str, int]  # rows by reason
    outside_bbox: int
    notes: tuple[str, ...]
    figures: Figures | None
    problem: str | None  # why there are no figures
    hint: str | None

    def to_dict(self) -> dict[str, object]:
        """Return all of it as JSON has it.

        >>> fv.describe("trips.parquet", grid="h3:7").to_dict()["private"]
        True
        """
        return {"private": True, **asdict(self)}


def describe(
    trips: TripsLike,
    grid: str | None = None,
    *,
    zones: ZonesLike | None = None,
    bbox: str | Iterable[float] | None = None,
    unit: str | None = None,
    ks: str | Sequence[int] = KS,
    memory: str | int | None = None,
) -> Description:
    """Say what was understood of trips: format, layout, columns, times, rows that can be used, and private figures.

    trips: what `read_trips` returns, or anything it takes. grid, zones, bbox, unit, memory: as for `build_flows`; trips
    that name zones need no file of them here. ks: for which k to say how much is anonymous already.
    Nothing is published, and no budget is spent: but all that is said is private.

    >>> told = fv.describe("trips.parquet", grid="h3:7", unit="person_id")
    >>> told.figures.trips, told.figures.anonymous[0]["k"]
    (2000, 2)
    """
    asked = parse_wholes(ks, "ks", "give whole numbers of persons or trips, e.g. 2,5,10,20")
    table = trips if isinstance(trips, Trips) else read_trips(trips)
    places, flows, problem = None, None, None
    try:
        places, flows = _count(table, grid, zones, bbox, unit, memory)
    except InputError as error:
        problem = error
    return Description(
        source=describe_source(table.source, table.reading.encoding),
        layout=None if table.layout is None else f"{table.layout.name} ({table.layout.title})",
        columns=table.columns,
        computed={column.name: column.columns for column in table.source.derived},
        other_columns=tuple(name for name in table.available if name not in table.columns.values()),
        unit=unit,
        possible_unit=None if table.layout is None else table.layout.unit,
        crs=_crs(table),
        places=places,
        time_sample=_time_sample(table),
        times=_times(table),
        rows=None if flows is None else flows.provenance.rows,
        usable=None if flows is None else flows.provenance.rows - sum(flows.provenance.dropped.values()),
        dropped={} if flows is None else flows.provenance.dropped,
        outside_bbox=0 if flows is None else flows.provenance.outside_bbox,
        notes=table.notes
        if flows is None
        else (*flows.provenance.notes, *flows.provenance.doubts, *(_totals(flows) if zones is None else [])),
        figures=None if flows is None else measure(flows, asked),
        problem=None if problem is None else problem.with_keywords()[0],
        hint=None if problem is None else problem.hint,
    )


def _count(
    trips: Trips,
    grid: str | None,
    zones: ZonesLike | None,
    bbox: str | Iterable[float] | None,
    unit: str | None,
    memory: str | int | None,
) -> tuple[str, Flows]:
    """Return between what trips are counted, and their flows."""
    named, hierarchy = zones, None
    has_ids, has_points = (all(name in trips.columns for name in names) for names in (ZONES, COORDINATES))
    if zones is None and grid is None and has_ids and not has_points:
        ids = find_zones(_request(trips, ZONES))
        named, hierarchy = pa.table({"zone_id": pa.array(ids, pa.string())}), "zone_id"
        trips = replace(trips, mapping={name: to for name, to in trips.mapping.items() if name != "zone_id"})
    with warnings.catch_warnings():
        for kind in (DroppedRowsWarning, ImplausiblePlacesWarning):
            warnings.simplefilter("ignore", kind)
        flows = build_flows(
            trips, grid, zones=named, hierarchy=hierarchy, bbox=bbox, unit=unit, memory=memory, max_unusable=1
        )
    if named is None:
        return f"tiles of {flows.places.settings()['grid']}", flows
    return "zones" if zones is not None else "zones that the trips name", flows


def _totals(flows: Flows) -> list[str]:
    """Return a note on each zone that is a sum of all others: a row or column of totals."""
    if not flows.places.by_zone:
        return []
    return [
        f"zone {name!r} looks like a total: its trips are those of all other zones, and count twice here;"
        " it is dropped where --zones lists the real ones"
        for name in find_totals(flows)
    ]


def _request(trips: Trips, names: Sequence[str]) -> Request:
    columns = {name: trips.columns[name] for name in names}
    return Request(trips.source, columns, trips.where, reading=trips.reading)


def _crs(trips: Trips) -> str | None:
    if not all(name in trips.columns for name in COORDINATES):
        return None
    return trips.reading.input_crs or "degrees of WGS 84"


def _time_sample(trips: Trips) -> str | None:
    if "start_time" not in trips.columns:
        return None
    rows = trips.head(_SAMPLE).column(trips.columns["start_time"]).to_pylist()
    return next((str(value) for value in rows if value is not None), None)


def _times(trips: Trips) -> Times | None:
    ends = next((names for names in (ZONES, COORDINATES) if all(name in trips.columns for name in names)), None)
    if "start_time" not in trips.columns or ends is None:
        return None
    try:
        clock = look_at_clock(replace(_request(trips, ends), time=trips.columns["start_time"]))
    except InputError:  # a column of something else
        return Times(None, None, utc=False, span_days=0.0, hours_covered=0, unusable=0)
    first, last = clock.first, clock.last
    return Times(
        first=None if first is None else first.replace(tzinfo=None).isoformat(sep=" "),
        last=None if last is None else last.replace(tzinfo=None).isoformat(sep=" "),
        utc=clock.aware,
        span_days=0.0 if first is None or last is None else (last - first).total_seconds() / 86_400,
        hours_covered=clock.hours,
        unusable=clock.unusable,
    )
