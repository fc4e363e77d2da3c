"""SQL for the rows of the input under their meanings, with the reason why a row cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowveil._engine.duckdb import relation, types
from flowveil._engine.projected import degrees_sql
from flowveil._engine.reading import Reading
from flowveil._engine.shaping import VALUE as CELL
from flowveil._engine.shaping import identifier, literal
from flowveil._engine.times import time_sql, usable_sql

if TYPE_CHECKING:
    import duckdb

    from flowveil._engine.condition import Condition
    from flowveil._engine.source import Source

OUTSIDE = "outside the bbox"
BAD_WEIGHT = "bad weight"
LESS_THAN_HALF = "less than half a trip"
_LARGEST_WEIGHT = 1e9  # people one person may stand for; keeps sums in millionths within 64 bits
_LARGEST_COUNT = 1e12  # trips of one row; keeps sums within 64 bits
_BLANKS = "' ' || chr(9) || chr(10) || chr(13)"
_NOTHING = "'null', 'none', 'nan', 'n/a', 'na', '<na>', '-'"  # how files write that there is no id
_LONGEST_NOTHING = 4  # bytes of the longest of these
_AS_WRITTEN = "flowveil as written"  # no column of an input is called so
_BETWEEN = " '\u00a0\u202f\u2019"  # digits of thousands, beside the sign that is not that of decimals
_GROUP = "[0-9][0-9][0-9]"  # no braces: the text is filled in where columns are computed
_POINTS_OF_THOUSANDS = f"[1-9][0-9]?[0-9]?([.]{_GROUP})+"
_MANY_SIGNS = f"[-+]?[0-9][0-9.,{_BETWEEN}]*[0-9]"
NO_SIGN, OF_DECIMALS, OF_EITHER, OF_MORE = range(4)  # what a sign between digits of a count is


@dataclass(frozen=True)
class Request:
    """Which columns of which source are wanted."""

    source: Source
    columns: dict[str, str]  # the four coordinates, or origin and destination: meaning -> column
    where: Condition | None = None
    count: str | None = None  # column of a pre-aggregated table
    unit: str | None = None
    weight: str | None = None
    weighs_trips: bool = False  # the weight is one of a trip, with a unit too; otherwise a person has one
    bbox: tuple[float, float, float, float] | None = None
    time: str | None = None
    by: tuple[str, ...] = ()  # columns of groups
    reading: Reading = field(default_factory=Reading)  # how values are written
    nowhere: str = "out of reach of the grid"  # why a place with coordinates has no tile
    stamp: str | None = None  # column of time that rows are marked by, whether time is cut or not
    secret: bytes | None = None  # what rows and persons are marked with, where marks are wanted
    located: bool = False  # coordinates are wanted beside keys

    @property
    def by_zone(self) -> bool:
        """Whether trips name zones."""
        return "origin" in self.columns

    @property
    def named(self) -> list[str]:
        """All columns that are wanted, apart from those in `where`."""
        single = (self.count, self.unit, self.weight, self.time, self.stamp)
        return list(dict.fromkeys([*self.columns.values(), *filter(None, single), *self.by]))


def rows_sql(con: duckdb.DuckDBPyConnection, request: Request) -> str:
    """Return SQL for the rows that `where` keeps.

    Columns: for coordinates null_NAME (nothing is written), NAME (double, null where it is no number) and decimal_comma
    (one is written like 4,5); for zones NAME (text); unit (text); weight and count (double); time (microseconds since
    1970, null where it is none) and aware (the time is in UTC, not as a local clock shows it); stamp and stamp_aware
    (likewise); by_0 and so on (text), each only if it was asked for.
    """
    named = request.named
    table = relation(con, request.source, named)
    kind = types(con, request.source)
    written = {column: identifier(column) for column in named}
    if _is_csv(request):
        made = {column.name: column.columns for column in request.source.derived}
        as_text = {column: sql for column, sql in written.items() if column not in made}
        if request.where:
            parts_of = [column for name in named for column in made.get(name, ()) if column in kind]
            read = dict.fromkeys([*as_text, *parts_of])
            copies = {column: identifier(f"{_AS_WRITTEN} {number}") for number, column in enumerate(read)}
            table = _with_types(table, copies, kind) if copies else table
            as_text = {column: copies[column] for column in as_text}
            written |= as_text
        kind |= dict.fromkeys(as_text, "VARCHAR")
    reading = request.reading
    if request.by_zone:
        parts = [f"{_text(written[column], kind[column])} AS {name}" for name, column in request.columns.items()]
    else:
        parts = _coordinates(request, written, kind)
    if request.unit:
        parts.append(f"{_text(written[request.unit], kind[request.unit])} AS unit")
    for name, number_column in (("weight", request.weight), ("count", request.count)):
        if number_column:
            parts.append(f"{number_sql(written[number_column], kind[number_column], reading.decimal)} AS {name}")
    if request.count:
        parts.append(f"{_signs(request, written[request.count], kind[request.count])} AS signs")
    parts += _times(request, written, kind)
    parts += [f"{_text(written[column], kind[column])} AS by_{number}" for number, column in enumerate(request.by)]
    condition = f" WHERE ({request.where})" if request.where else ""
    rows = f"SELECT {', '.join(parts)} FROM {table}{condition}"
    if reading.input_crs is not None and not request.by_zone:
        ends = [name.removesuffix("_lon") for name in request.columns if name.endswith("_lon")]
        places = [(f"{end}_lon", f"{end}_lat") for end in ends]
        rows = degrees_sql(con, reading.input_crs, places, rows)
    return f"SELECT * REPLACE ({_person('unit')} AS unit) FROM ({rows})" if request.unit else rows


def _coordinates(request: Request, written: dict[str, str], kind: dict[str, str]) -> list[str]:
    """Return what is selected of coordinates: each with whether there is none, and whether one has a comma."""
    parts: list[str] = []
    commas: list[str] = []
    reading = request.reading
    in_degrees = reading.input_crs is None and reading.decimal is None
    for name, column in request.columns.items():
        raw = written[column]
        blank = _trimmed(raw) if kind[column] == "VARCHAR" else raw
        parts.append(f"({blank}) IS NULL AS null_{name}")
        parts.append(f"{number_sql(blank, kind[column], reading.decimal, either=in_degrees)} AS {name}")
        commas += [_comma(blank)] if kind[column] == "VARCHAR" else []
    return [*parts, f"{' OR '.join(commas) or 'false'} AS decimal_comma"]


def number_sql(value: str, kind: str, decimal: str | None, *, either: bool = False) -> str:
    """Return a number as a double, null where it is none.

    decimal: the sign before its decimals, if that was said. either: 4.5 and 4,5 are the same, as with degrees, which
    are below a thousand.
    """
    plain = f"TRY_CAST({value} AS DOUBLE)"
    if kind != "VARCHAR" or (decimal is None and not either):
        return plain
    if decimal is not None:
        between = f"{'.' if decimal == ',' else ','}{_BETWEEN}"
        grouped = f"[-+]?[0-9][0-9]?[0-9]?([{between}]{_GROUP})+([{decimal}][0-9]+)?"
        pattern, other = (f"{grouped}|[-+]?[0-9]+(,[0-9]+)?", "NULL") if decimal == "," else (grouped, plain)
        bare = f"TRY_CAST(replace(translate(trim({value}), {literal(between)}, ''), ',', '.') AS DOUBLE)"
        return f"CASE WHEN regexp_full_match(trim({value}), {literal(pattern)}) THEN {bare} ELSE {other} END"
    return f"coalesce({plain}, CASE WHEN {_comma(value)} THEN TRY_CAST(replace({value}, ',', '.') AS DOUBLE) END)"


def _signs(request: Request, count: str, kind: str) -> str:
    """Return what a sign between the digits of a count is: of decimals, of thousands or decimals, or of more than that.

    Nothing is asked of numbers that were no text, of which a user said how they are written, or that a layout computes.
    """
    source = request.source
    if source.wide is not None and _is_csv(request):
        count = CELL
    elif kind != "VARCHAR" or request.count in {column.name for column in source.derived}:
        return str(NO_SIGN)
    if request.reading.decimal is not None:
        return str(NO_SIGN)
    text = f"trim({count})"
    return (
        f"CASE WHEN NOT contains({count}, '.') AND TRY_CAST({count} AS DOUBLE) IS NOT NULL THEN {NO_SIGN}"
        f" WHEN regexp_full_match({text}, {literal(_POINTS_OF_THOUSANDS)})"
        f" THEN CASE WHEN TRY_CAST({count} AS DOUBLE) IS NULL THEN {OF_MORE} ELSE {OF_EITHER} END"
        f" WHEN TRY_CAST({count} AS DOUBLE) IS NOT NULL THEN {OF_DECIMALS}"
        f" WHEN regexp_full_match({text}, {literal(_MANY_SIGNS)}) THEN {OF_MORE} ELSE {NO_SIGN} END"
    )


def _comma(text: str) -> str:
    """Return whether text that is no number would be one with a point in place of its comma."""
    return f"coalesce(TRY_CAST({text} AS DOUBLE) IS NULL AND regexp_full_match({text}, '-?\\d+,\\d+'), false)"


def _with_types(table: str, written: dict[str, str], kind: dict[str, str]) -> str:
    """Return a table in which text columns have the types that conditions were checked with, and copies as written."""
    typed = [f"TRY_CAST({identifier(column)} AS {kind[column]}) AS {identifier(column)}" for column in written]
    copies = [f"{identifier(column)} AS {copy}" for column, copy in written.items()]
    return f"(SELECT * REPLACE ({', '.join(typed)}), {', '.join(copies)} FROM {table})"


def _text(value: str, kind: str) -> str:
    """Return an id as text, null if blank. A whole number that is kept as a float, as pandas does, is written whole."""
    if kind in {"DOUBLE", "FLOAT"}:
        whole = f"{value} = floor({value}) AND abs({value}) < 1e15"
        return (
            f"CASE WHEN NOT isfinite({value}) THEN NULL WHEN {whole} THEN CAST(TRY_CAST({value} AS BIGINT) AS VARCHAR)"
            f" ELSE CAST({value} AS VARCHAR) END"
        )
    return _trimmed(value if kind == "VARCHAR" else f"CAST({value} AS VARCHAR)")


def _trimmed(text: str) -> str:
    """Return text without blanks around it, null if there is nothing else. Trimming is slow: few values need it."""
    bare = f"{text} >= '!' AND right({text}, 1) >= '!'"  # the first character above all blanks
    return f"CASE WHEN {bare} THEN {text} ELSE nullif(trim({text}, {_BLANKS}), '') END"


def _times(request: Request, written: dict[str, str], kind: dict[str, str]) -> list[str]:
    """Return the time of a row and whether it is in UTC, and the time that it is marked by, each if it is wanted."""
    wanted = [(request.time, ("time", "aware")), (request.stamp, ("stamp", "stamp_aware"))]
    parts = []
    for column, names in wanted:
        if column:
            sql = _time(written[column], kind[column], column, request.reading.time_format)
            parts += [f"{value} AS {name}" for value, name in zip(sql, names, strict=True)]
    return parts


def _time(value: str, kind: str, column: str, time_format: str | None) -> tuple[str, str]:
    """Return a time as microseconds since 1970, and whether these are in UTC."""
    text = _trimmed(value) if kind == "VARCHAR" else f"CAST({value} AS VARCHAR)"
    moment, aware = time_sql(text, value, kind, column, time_format)
    return usable_sql(moment), aware


def _person(text: str) -> str:
    """Return the id of a person so that one person is not counted twice because files write it in different ways.

    Unicode variants and invisible characters are evened out, `17.0` is `17`, and words for nothing are null.
    """
    visible = f"regexp_replace(nfc_normalize({text}), '\\p{{Cf}}', '', 'g')"
    plain = f"trim(regexp_replace({visible}, '\\p{{Z}}+', ' ', 'g'), {_BLANKS})"
    even = f"CASE WHEN strlen({text}) = length({text}) THEN {text} ELSE {plain} END"
    whole = f"CASE WHEN contains({text}, '.0') THEN regexp_replace({even}, '^([+-]?\\d+)\\.0+$', '\\1') ELSE {even} END"
    is_word = f"strlen({text}) > {_LONGEST_NOTHING} OR lower({text}) NOT IN ({_NOTHING})"
    return f"CASE WHEN {is_word} THEN nullif({whole}, '') END"


def problem_sql(request: Request) -> str:
    """Return a CASE expression over `rows_sql`: why a row cannot be used, NULL if it can.

    NaN is found with isfinite: DuckDB answers isnan and comparisons from the statistics of Parquet files, which leave
    NaN out.
    """
    cases = _zone_cases(request) if request.by_zone else _coordinate_cases(request)
    if request.count:
        if request.count in {column.name for column in request.source.derived}:  # from a number with decimals
            cases.append(("count = 0", LESS_THAN_HALF))
        good = f"isfinite(count) AND count BETWEEN 1 AND {_LARGEST_COUNT} AND count = floor(count)"
        cases.append((f"NOT coalesce({good}, false)", "bad count"))
    if request.unit:
        cases.append(("unit IS NULL", "null unit"))
    if request.time:
        cases.append(("time IS NULL", "no usable time"))
    if request.bbox:
        cases.append((f"NOT ({inside_sql(request.bbox)})", OUTSIDE))
    if request.weight:  # last: only the weights of rows that would be used matter
        good = f"isfinite(weight) AND weight BETWEEN 0 AND {_LARGEST_WEIGHT}"
        cases.append((f"NOT coalesce({good}, false)", BAD_WEIGHT))
    return "CASE " + " ".join(f"WHEN {test} THEN '{reason}'" for test, reason in cases) + " END"


def inside_sql(bbox: tuple[float, float, float, float], *, swapped: bool = False) -> str:
    """Return a condition: both ends lie in the box, bounds included."""
    west, south, east, north = (repr(edge) for edge in bbox)
    lon, lat = ("lat", "lon") if swapped else ("lon", "lat")
    ends = [
        f"{end}_{lon} BETWEEN {west} AND {east} AND {end}_{lat} BETWEEN {south} AND {north}" for end in ("start", "end")
    ]
    return " AND ".join(ends)


def _zone_cases(request: Request) -> list[tuple[str, str]]:
    return [(f"{name} IS NULL", "null zone") for name in request.columns]


def _coordinate_cases(request: Request) -> list[tuple[str, str]]:
    names = list(request.columns)
    any_of = " OR ".join
    return [
        (any_of(f"null_{name}" for name in names), "null coordinate"),
        (any_of(f"{name} IS NULL OR NOT (isfinite({name}) OR isinf({name}))" for name in names), "not a number"),
        (any_of(f"isinf({name})" for name in names), "infinite coordinate"),
        (any_of(f"abs({name}) > {90 if name.endswith('lat') else 180}" for name in names), "out of range"),
    ]


def _is_csv(request: Request) -> bool:
    return getattr(request.source, "format", "") == "csv"
