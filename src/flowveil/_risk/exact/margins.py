"""Figures known from elsewhere, as a table: origin, destination, time and groups (each may be missing: all), trips."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from flowveil._arrays import texts
from flowveil._errors import InputError, UnknownNameError
from flowveil._folder import AREAS, SIDES, TIMES, key_columns
from flowveil._folder import FLOWS as FLOWS_FILE
from flowveil._options import LARGEST_NUMBER, parse_whole, shown
from flowveil._places import boxes_of_ids
from flowveil._risk.exact.ground import cut_axis
from flowveil._risk.exact.layers import TOPS, Layer
from flowveil._risk.exact.moments import place_moments, steps_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import ArrowTable, ChunkedColumn
    from flowveil._folder import Files
    from flowveil._risk.exact.layers import Part

MarginsLike: TypeAlias = "str | Path | ArrowTable"  # what margins are read from

_HINT = "give a table, or a CSV or Parquet file, with origin, destination (either may be missing) and trips"
_SOURCE = "the table"


def read_margins(source: MarginsLike) -> pa.Table:
    """Return a table of figures with every column as text, or raise."""
    try:
        if isinstance(source, str | Path):
            if not Path(source).is_file():
                raise InputError(f"there is no table {str(source)!r}", "check the path")
            table = _read_csv(Path(source)) if Path(source).suffix.lower() == ".csv" else pa.parquet.read_table(source)
        else:
            table = pa.table(source)
        columns = {name: _texts(table[name]) for name in table.column_names}
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError) as error:
        raise InputError(f"the table of known figures cannot be read: {error}", _HINT) from None
    if "trips" not in columns or len(columns) != table.num_columns:
        raise InputError("the table of known figures has no column 'trips', or one twice", _HINT)
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def margin_layers(table: pa.Table, releases: Sequence[Files]) -> list[Layer]:
    """Return the figures of a table on the places, times and groups of releases, in as many layers as they need.

    Times and groups are those of the first release.
    """
    first = releases[0]
    options = first.manifest["options"]
    keys = [name for name in key_columns(first.tables[FLOWS_FILE], first.manifest) if name != TIMES[1]]
    known = [*SIDES, *keys, *(TIMES[1:] if "time" in keys else ()), "trips"]
    for name in table.column_names:
        if name not in known:
            raise UnknownNameError("column of the table of known figures", name, known)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    count = table.num_rows
    places = _Places(releases)
    ends = [[places.part(area) for area in columns.get(side, [None] * count)] for side in SIDES]
    slots: dict[str, list[Part]] = {}
    steps = steps_of(options)
    if steps is not None and "time" in columns:
        edges = [[_moment(text, steps.cycle) for text in columns[name]] for name in TIMES if name in columns]
        axis, slots_of_time = place_moments(steps, edges[0], edges[1] if len(edges) > 1 else None)
        slots[axis] = slots_of_time
    for name in keys:
        if name in columns and not (name == "time" and steps is not None):
            slots[f"column {name}"] = [None if value is None else frozenset([value]) for value in columns[name]]
    trips = [
        parse_whole(text, f"a number of trips in {_SOURCE}", "give whole numbers from 0 on", 0, LARGEST_NUMBER)
        for text in columns["trips"]
    ]
    told = [name for name in known if name in columns and name not in {*SIDES, "trips"}]
    names = [_name(columns, told, row) for row in range(count)]
    layer = Layer(_SOURCE, (ends[0], ends[1]), slots, np.array(trips, np.int64), names)
    return [layer.take(np.array(rows, np.int64)) for rows in _apart(layer, _resolution(first))]


def _resolution(files: Files) -> int | None:
    grid = str(files.manifest["options"].get("grid", ""))
    return int(grid.removeprefix("h3:")) if grid.startswith("h3:") else None


class _Places:
    """The areas that a table may name: of a grid any, of zones those of releases and single zones."""

    def __init__(self, releases: Sequence[Files]) -> None:
        self._members: dict[str, Part] | None = None
        tables = [files.tables[AREAS] for files in releases]
        if "members" in tables[0].column_names:
            self._members = {}
            for table in tables:
                members: list[list[str] | None] = table["members"].to_pylist()
                self._members |= {zone: frozenset([zone]) for names in members for zone in names or []}
            for table in tables:
                named = zip(texts(table["area"]), table["members"].to_pylist(), strict=True)
                self._members |= {area: frozenset(names) for area, names in named if names is not None}

    def part(self, area: str | None) -> Part:
        """Return where an area lies, or raise."""
        if area is None or area in TOPS:
            return None
        if self._members is None:
            boxes_of_ids([area])
            return area
        if area not in self._members:
            raise InputError(
                f"{_SOURCE} has the place {shown(area)}, which no release has",
                "use areas of the releases, or zones that lie in them",
            )
        return self._members[area]


def _apart(layer: Layer, resolution: int | None) -> list[list[int]]:
    """Return the figures of a layer in groups in which no trip is counted twice."""
    parts = [*layer.ends, *layer.slots.values()]
    axes = [cut_axis(column, resolution if place < len(SIDES) else None) for place, column in enumerate(parts)]
    regions = [
        [set(axis.classes[axis.number[part]].tolist()) for axis, part in zip(axes, row, strict=True)]
        for row in zip(*parts, strict=True)
    ]
    alike: dict[tuple[bool, ...], list[int]] = {}
    for row, row_parts in enumerate(zip(*parts, strict=True)):
        alike.setdefault(tuple(part is None for part in row_parts), []).append(row)
    groups: list[list[int]] = []
    for rows in alike.values():
        own: list[list[int]] = []
        for row in rows:
            for group in own:
                if all(_is_apart(regions[row], regions[other]) for other in group):
                    group.append(row)
                    break
            else:
                own.append([row])
        groups += own
    return groups


def _is_apart(one: Sequence[set[int]], other: Sequence[set[int]]) -> bool:
    return any(first.isdisjoint(second) for first, second in zip(one, other, strict=True))


def _moment(text: str | None, cycle: int | None) -> int | None:
    """Return a time of a table as releases count them: an hour, or microseconds since 1970 in UTC."""
    if text is None:
        return None
    if cycle:
        return parse_whole(text, f"an hour in {_SOURCE}", f"hours are whole numbers from 0 to {cycle}", 0, cycle)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"a time in {_SOURCE} is {shown(text)}", "write times like 2024-05-01T08:00:00Z") from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _name(columns: dict[str, list[str | None]], told: list[str], row: int) -> str:
    ends = " to ".join(columns[side][row] or "everywhere" if side in columns else "everywhere" for side in SIDES)
    values = [value for name in told if (value := columns[name][row]) is not None]
    return f"{ends} ({', '.join(values)})" if values else ends


def _read_csv(path: Path) -> pa.Table:
    """Read every column as text (007 is not 7), split where the first line has most separators."""
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline()
    split = pa.csv.ParseOptions(delimiter=max(",;\t|", key=first.count))
    names = first.strip().split(split.delimiter)
    text = pa.csv.ConvertOptions(column_types=dict.fromkeys((name.strip('"') for name in names), pa.string()))
    return pa.csv.read_csv(path, parse_options=split, convert_options=text)


def _texts(column: ChunkedColumn) -> list[str | None]:
    """Return values as text, None for those that are missing."""
    if pa.types.is_floating(column.type):
        column = column.cast(pa.int64())
    values = (None if value is None else str(value).strip() for value in column.cast(pa.string()).to_pylist())
    return [value or None for value in itertools.chain(values)]
