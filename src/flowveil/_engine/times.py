"""SQL that reads times: as text, as timestamps, or as numbers since 1970."""

from __future__ import annotations

from flowveil._engine.reading import EXCEL, UNIX
from flowveil._engine.shaping import literal
from flowveil._errors import InputError

# Times beyond are clock errors, and time zones of different libraries disagree about them.
_EARLIEST, _LATEST = "TIMESTAMP '1970-01-01'", "TIMESTAMP '2038-01-01'"
_OFFSET = "[0-9]:[0-9].*([zZ]|[+-][0-9]{2}(:?[0-9]{2})?)$"  # a time that says how far from UTC it is
_IN_UTC = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")  # in microseconds and nanoseconds, as pandas writes them
_NUMBERS = ("BIGINT", "INTEGER", "UBIGINT", "UINTEGER", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL")
# A number is seconds, milliseconds, microseconds or nanoseconds since 1970: a clock after 1973 tells them apart.
_SECONDS, _LARGEST = (1e8, 1e11), 1e18 * 4
# Half a day and its letters are written by Americans, month first: nobody else is meant by 1/1/19 3:09 AM.
_AMERICAN = "[0-9]{1,2}/[0-9]{1,2}/([0-9]{2}|[0-9]{4}),? [0-9]{1,2}:[0-9]{2}(:[0-9]{2})? ?[AaPp][Mm]"
_AMERICAN_FORMATS = [
    f"%m/%d/{year}{comma} %I:%M{seconds}{blank}%p"
    for year in ("%y", "%Y")
    for comma in ("", ",")
    for seconds in ("", ":%S")
    for blank in (" ", "")
]
_FIRST_DAY = 25569  # 1 January 1970, in days of a spreadsheet
_DIGITS = "[0-9]{9,19}([.][0-9]+)?"


def time_sql(text: str, value: str, kind: str, column: str, time_format: str | None) -> tuple[str, str]:
    """Return a time as a timestamp without a zone, null where it is none, and whether it is in UTC.

    text: the value as text without blanks around it; value: as it is, of this type of DuckDB.
    """
    if time_format is not None:
        return _formatted(text, time_format)
    if kind == "VARCHAR":
        number = f"CASE WHEN regexp_full_match({text}, '{_DIGITS}') THEN TRY_CAST({text} AS DOUBLE) END"
        aware = f"coalesce(regexp_matches({text}, '{_OFFSET}'), false)"
        written = (
            f"CASE WHEN {aware} THEN timezone('UTC', TRY_CAST({text} AS TIMESTAMPTZ))"
            f" ELSE TRY_CAST({text} AS TIMESTAMP) END"
        )
        is_number = f"coalesce(regexp_full_match({text}, '{_DIGITS}'), false)"
        formats = ", ".join(literal(written_as) for written_as in _AMERICAN_FORMATS)
        american = f"CASE WHEN regexp_full_match({text}, '{_AMERICAN}') THEN try_strptime({text}, [{formats}]) END"
        return f"coalesce({american}, {written}, {_moment(number, text)})", f"{aware} OR {is_number}"
    if kind in _IN_UTC:
        return f"timezone('UTC', TRY_CAST({value} AS TIMESTAMPTZ))", "true"
    if kind.startswith(("TIMESTAMP", "DATE")):
        return f"TRY_CAST({value} AS TIMESTAMP)", "false"
    if kind.startswith(_NUMBERS):
        return _moment(f"TRY_CAST({value} AS DOUBLE)", value), "true"
    raise InputError(
        f"the column {column!r} holds no times",
        "times are timestamps, text like 2024-05-01T08:30:00+02:00, or numbers of seconds since 1970",
    )


def _formatted(text: str, time_format: str) -> tuple[str, str]:
    """Return the same for times of a format that a user gave."""
    if time_format in UNIX:
        return _since(f"TRY_CAST({text} AS DOUBLE)", f"TRY_CAST({text} AS HUGEINT)", time_format), "true"
    if time_format == EXCEL:
        return _days(f"TRY_CAST(replace({text}, ',', '.') AS DOUBLE)"), "false"
    parsed = f"try_strptime({text}, {literal(time_format)})"
    return (f"timezone('UTC', {parsed})", "true") if "%z" in time_format else (parsed, "false")


def _days(number: str) -> str:
    """Return the timestamp of a number of days, to the second: spreadsheets round what they write."""
    seconds = f"round(({number} - {_FIRST_DAY}) * 86400)"
    return f"CASE WHEN abs({seconds}) < 4e9 THEN make_timestamp(TRY_CAST({seconds} AS BIGINT) * 1000000) END"


def usable_sql(moment: str) -> str:
    """Return microseconds since 1970 of a timestamp, null where it is none or a clock error."""
    return f"CASE WHEN ({moment}) >= {_EARLIEST} AND ({moment}) < {_LATEST} THEN epoch_us({moment}) END"


def clock_error_sql(microseconds: str) -> str:
    """Return whether a moment in microseconds since 1970 is a clock error."""
    return f"{microseconds} < epoch_us({_EARLIEST}) OR {microseconds} >= epoch_us({_LATEST})"


def _moment(number: str, whole: str) -> str:
    """Return the timestamp of a number since 1970, by how large it is."""
    cases, (low, high) = [], _SECONDS
    for unit in UNIX:
        since = _since(number, f"TRY_CAST({whole} AS HUGEINT)", unit)
        cases.append(f"WHEN ({number}) >= {low!r} AND ({number}) < {high!r} THEN {since}")
        low, high = high, high * 1e3 if high < _LARGEST / 1e4 else _LARGEST
    return f"CASE {' '.join(cases)} END"


def _since(number: str, whole: str, unit: str) -> str:
    """Return the timestamp of a number of a unit since 1970; nanoseconds are whole, as doubles are too short."""
    micro = f"round(({number}) * {UNIX[unit]})" if UNIX[unit] else f"({whole}) // 1000"
    good = f"abs({micro}) < 4e15"
    return f"CASE WHEN {good} THEN make_timestamp(TRY_CAST({micro} AS BIGINT)) END"
