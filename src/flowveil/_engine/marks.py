"""Marks: by what rows and persons are known again, in another file and another year, without telling who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowveil._engine.rows import Request

_BETWEEN = "chr(31)"
_DIGITS = 16  # of the hash: 64 bits. Two trips with one mark pass for one, which makes checks stricter, never laxer


def marked_by(request: Request) -> dict[str, list[str]]:
    """Return what the mark of a row and that of its person are made of, as SQL over `rows_sql`.

    A row is its places, its time, its person and, in a counted table, its number: nothing that depends on how it is
    published.
    """
    ends = [name if request.by_zone else f"CAST({name} + 0.0 AS VARCHAR)" for name in request.columns]  # -0.0 is 0.0
    stamp = ["CAST(stamp AS VARCHAR)"] if request.stamp else []
    unit = ["unit"] if request.unit else []
    counted = ["CAST(count AS VARCHAR)"] if request.count else []
    return {"mark": [*ends, *stamp, *unit, *counted], "owner": unit}


def mark_sql(secret: bytes, parts: list[str]) -> str:
    """Return SQL for the mark of some values: the beginning of a hash that nobody can make without the secret."""
    values = ", ".join(f"coalesce({part}, '')" for part in parts)
    text = f"concat_ws({_BETWEEN}, '{secret.hex()}', {values})" if parts else f"'{secret.hex()}'"
    return f"CAST('0x' || left(sha256({text}), {_DIGITS}) AS UBIGINT)"
