"""SQL that reads times: as text, as timestamps, or as numbers since 1970."""

from __future__ import annotations

from flowveil._engine.reading import EXCEL, UNIX
from flowveil._engine.shaping import literal
from flowveil._errors import InputError

# Times beyond are clock errors, and time zones of different libraries disagree about them.
_EARLIEST, _LATEST = "TIMESTAMP '1970-01-01'", "TIMESTAMP '2038-01-01'"
_DATE = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}"
_CLOCK = "[0-9]{1,2}:[0-9]{1,2}(:[0-9]{1,2}([.][0-9]*)?)?"
_LOCAL = f"{_DATE}(( +|T){_CLOCK})?"  # nothing else may follow: DuckDB reads 8:00 PM as eight in the morning
_OFFSET = f"{_DATE}( +|T){_CLOCK} ?(UTC|GMT|[zZ]|[-+][0-9]{{2}}(:?[0-9]{{2}})?)"  # it says how far from UTC it is
_IN_UTC = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")  # in microseconds and nanoseconds, as pandas writes them
_NUMBERS = ("BIGINT", "INTEGER", "UBIGINT", "UINTEGER", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL")
# A number is seconds, milliseconds, microseconds or nanoseconds since 1970: a clock from 1976 to 2032 tells them apart.
# Numbers of ten and twelve digits that may be a date without signs, such as 2024050108, are none of these.
_NUMBERS_OF = {"unix": (1e8, 1.97e9), "unix-ms": (2.1e11, 1e14), "unix-us": (1e14, 1e17), "unix-ns": (1e17, 4e18)}
# Half a day and its letters: before them the year is first, or it is written by Americans, month first: nobody else is
# meant by 1/1/19 3:09 AM.
_HALVES = f"({_DATE}|[0-9]{{1,2}}/[0-9]{{1,2}}/([0-9]{{2}}|[0-9]{{4}})),? {_CLOCK} ?[AaPp][Mm]"
_HALVES_FORMATS = [
    f"{date}{comma} %I:%M{seconds}{blank}%p"
    for date in ("%m/%d/%y", "%m/%d/%Y", "%Y-%m-%d", "%Y/%m/%d")
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
        aware = f"coalesce(regexp_full_match({text}, '{_OFFSET}'), false)"
        is_number = f"coalesce(regexp_full_match({text}, '{_DIGITS}'), false)"
        zone = f"regexp_replace(regexp_replace({text}, ' ?(UTC|GMT|[zZ])$', 'Z'), ' ([-+])', '\\1')"
        formats = ", ".join(literal(written_as) for written_as in _HALVES_FORMATS)
        moment = (
            f"CASE WHEN regexp_full_match({text}, '{_LOCAL}') THEN TRY_CAST({text} AS TIMESTAMP)"
            f" WHEN {aware} THEN timezone('UTC', TRY_CAST({zone} AS TIMESTAMPTZ))"
            f" WHEN {is_number} THEN {_moment(f'TRY_CAST({text} AS DOUBLE)', text)}"
            f" WHEN regexp_full_match({text}, '{_HALVES}') THEN try_strptime({text}, [{formats}]) END"
        )
        return moment, f"{aware} OR {is_number}"
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
    cases = []
    for unit, (low, high) in _NUMBERS_OF.items():
        since = _since(number, f"TRY_CAST({whole} AS HUGEINT)", unit)
        cases.append(f"WHEN ({number}) >= {low!r} AND ({number}) < {high!r} THEN {since}")
    return f"CASE {' '.join(cases)} END"


def _since(number: str, whole: str, unit: str) -> str:
    """Return the timestamp of a number of a unit since 1970; nanoseconds are whole, as doubles are too short."""
    micro = f"round(({number}) * {UNIX[unit]})" if UNIX[unit] else f"({whole}) // 1000"
    good = f"abs({micro}) < 4e15"
    return f"CASE WHEN {good} THEN make_timestamp(TRY_CAST({micro} AS BIGINT)) END"
