"""Rows of a study as one table, and what they come to: means, totals, quartiles, ratios to a reference."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._study.cells import DONE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flowveil._arrays import Column, FloatArray
    from flowveil._study.cells import Row, Value

# What tells combinations apart; further columns of text tell matrices of one combination apart.
COMBINATION = ("data", "method", "k", "max_suppression", "epsilon", "protected", "measured")
_MATRIX = "matrix"
_NO_FIGURES = {*COMBINATION, _MATRIX, "status", "note", "promise", "homogeneous", "verified", "k_weight"}
_ASKED = ("k", "max_suppression", "protected")
_STATISTICS = ("mean", "total", "least", "q1", "median", "q3", "most")


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table with all their columns; what a row does not have is null."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Value]) -> Column:
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return pa.array(values, pa.bool_() if known else pa.null())
    if all(isinstance(value, int) for value in known):
        return pa.array(values, pa.int64())
    if all(isinstance(value, int | float) for value in known):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def figure_names(rows: Iterable[Row]) -> list[str]:
    """Return the columns that hold figures."""
    return list(
        dict.fromkeys(
            name
            for row in rows
            for name, value in row.items()
            if name not in _NO_FIGURES and isinstance(value, int | float) and not isinstance(value, bool)
        )
    )


def summarize(rows: Sequence[Row], reference: str | None) -> list[Row]:
    """Return one row for each combination and figure: over its matrices, and over ratios to the reference by matrix."""
    done = [row for row in rows if row.get("status") == DONE]
    figures = figure_names(done)
    groups: dict[tuple[Value, ...], list[Row]] = defaultdict(list)
    for row in done:
        groups[tuple(row.get(name) for name in COMBINATION)].append(row)
    held = reference_rows(done, reference)
    summary: list[Row] = []
    for keys, some in groups.items():
        told: Row = dict(zip(COMBINATION, keys, strict=True))
        for figure in figures:
            values = np.array([row[figure] for row in some if row.get(figure) is not None], float)
            if len(values):
                own = told | {"figure": figure, "matrices": len(values)} | _statistics(values)
                summary.append(own | _ratio_statistics(ratios_to(some, held, figure)))
    return summary


def _statistics(values: FloatArray) -> Row:
    figures = [values.mean(), values.sum(), *np.quantile(values, [0, 0.25, 0.5, 0.75, 1])]
    return {name: float(value) for name, value in zip(_STATISTICS, figures, strict=True)}


def _ratio_statistics(ratios: list[float]) -> Row:
    if not ratios:
        return {}
    figures = [np.mean(ratios), *np.quantile(ratios, [0.25, 0.5, 0.75])]
    return {f"ratio_{name}": float(value) for name, value in zip(("mean", "q1", "median", "q3"), figures, strict=True)}


def reference_rows(rows: Iterable[Row], reference: str | None) -> dict[tuple[Value, ...], list[Row]]:
    """Return the rows of the reference by matrix."""
    held: dict[tuple[Value, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row.get("status") == DONE and row["method"] == reference:
            held[_place(row)].append(row)
    return held


def ratios_to(some: Iterable[Row], held: Mapping[tuple[Value, ...], list[Row]], figure: str) -> list[float]:
    """Return the ratio of a figure to that of the reference on the same matrix, where both have one.

    What a method was not asked for (a budget that it cannot steer, a k of noise) matches whatever the reference was.
    """
    ratios = []
    for row in some:
        for other in held.get(_place(row), []):
            value, base = row.get(figure), other.get(figure)
            alike = all(row.get(name) is None or row[name] == other.get(name) for name in _ASKED)
            if alike and base and isinstance(value, int | float) and isinstance(base, int | float):
                ratios.append(value / base)
    return ratios


def _place(row: Row) -> tuple[Value, ...]:
    return tuple(row.get(name) for name in ("data", _MATRIX, "measured"))
