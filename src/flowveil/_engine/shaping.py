"""Rows as a source has them become rows that trips can be read from: matrices one cell a row, columns computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowveil._engine.source import Shaping

ROW, COLUMN, VALUE = "origin", "destination", "value"  # of a matrix with one cell a row


def literal(text: str) -> str:
    """Quote text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quote a column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def shaped(table: str, source: Shaping) -> str:
    """Return SQL for the rows of a table after what a source does with them."""
    if source.wide is not None:
        table = f"({_unpivoted(table, source.wide)})"
    if source.derived:
        made = ", ".join(
            f"{column.sql.format(*(f'CAST({identifier(name)} AS VARCHAR)' for name in column.columns))}"
            f" AS {identifier(column.name)}"
            for column in source.derived
        )
        table = f"(SELECT *, {made} FROM {table})"
    return table


def _unpivoted(table: str, rows: str) -> str:
    """Return SQL for the cells of a matrix that are not empty and not 0, with the names of their row and column."""
    name = identifier(rows)
    cells = f"SELECT {name}::VARCHAR AS {name}, COLUMNS(* EXCLUDE ({name}))::VARCHAR FROM {table}"
    long = f"UNPIVOT ({cells}) ON COLUMNS(* EXCLUDE ({name})) INTO NAME {COLUMN} VALUE {VALUE}"
    there = f"trim({VALUE}) <> '' AND TRY_CAST({VALUE} AS DOUBLE) IS DISTINCT FROM 0"
    return f"SELECT {name} AS {ROW}, {COLUMN}, {VALUE} FROM ({long}) WHERE {there}"
