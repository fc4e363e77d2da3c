"""Moments of samples in SQL: timestamps, text, or numbers of seconds since 1970."""

from __future__ import annotations

from flowveil._errors import InputError

_TIMES = ("TIMESTAMP", "DATE")
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE", "DECIMAL")
_LATEST = 1e11  # a number of seconds below it; from it on, one of milliseconds, and from a thousand times it, of less
_EARLIEST = 1e8  # fewer seconds are no moment that anybody means, such as an hour of a day
_DIGITS = r"\d{9,10}|\d{12,13}|\d{15,16}"  # how seconds, milliseconds and microseconds since 1970 are written
_OFFSET = "[0-9]:[0-9].*([zZ]|[+-][0-9]{2}(:?[0-9]{2})?)$"  # a time that says how far from UTC it is


def moment_sql(value: str, kind: str, column: str) -> str:
    """Return a moment as microseconds since 1970, null where there is none; a clock without a zone is read as UTC."""
    if kind.startswith(_NUMBERS):
        return _since_1970(value)
    if kind != "VARCHAR" and not kind.startswith(_TIMES):
        raise InputError(
            f"the column {column!r} holds {kind.lower()}, not times",
            "write times as 2024-05-17 08:30:00, with a zone if they are not in UTC, or as seconds since 1970",
        )
    moment = f"TRY_CAST({value} AS TIMESTAMPTZ)"
    micros = f"CASE WHEN isfinite({moment}) THEN epoch_us({moment}) END"  # an infinite time has no microseconds
    if kind != "VARCHAR":
        return micros
    return f"CASE WHEN regexp_full_match(trim({value}), '{_DIGITS}') THEN {_since_1970(value)} ELSE {micros} END"


def aware_sql(value: str, kind: str) -> str:
    """Return whether a moment is one in UTC, and not what a local clock shows."""
    if kind == "VARCHAR":
        return f"coalesce(regexp_matches({value}, '{_OFFSET}') OR regexp_full_match(trim({value}), '{_DIGITS}'), false)"
    return "true" if kind == "TIMESTAMP WITH TIME ZONE" or kind.startswith(_NUMBERS) else "false"


def _since_1970(value: str) -> str:
    number = f"TRY_CAST({value} AS DOUBLE)"
    unit = f"CASE WHEN abs({number}) < {_LATEST:.0f} THEN 1e6 WHEN abs({number}) < {_LATEST:.0f}000 THEN 1e3 ELSE 1 END"
    return f"CASE WHEN abs({number}) >= {_EARLIEST:.0f} THEN TRY_CAST(round({number} * {unit}) AS BIGINT) END"
