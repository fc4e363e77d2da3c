"""What a study looks like: ratios to a reference as boxes, sweeps over k and budget, seconds against precision."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from flowveil._charts import boxes_svg, lines_svg
from flowveil._study.cells import DONE
from flowveil._study.measured import TRIPS
from flowveil._study.tables import ratios_to, reference_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._study.cells import Row

_RATIOS = {"gbar": "gbar", "e": "e", "d": "d", "seconds": "seconds"}
_SWEEPS = {
    "k": ("k", "fewest persons or trips of a flow, k"),
    "max_suppression": ("budget", "share that may be left out"),
}


def pictures(rows: Sequence[Row], reference: str | None) -> dict[str, str]:
    """Return SVG documents by file name."""
    done = [row for row in rows if row.get("status") == DONE and row.get("measured", TRIPS) == TRIPS]
    drawn = {}
    if reference is not None and any(row["method"] != reference for row in done):
        drawn["ratios.svg"] = ratio_boxes(done, reference)
    for column, (name, axis) in _SWEEPS.items():
        if len({row.get(column) for row in done} - {None}) > 1:
            drawn[f"{name}.svg"] = lines_svg(f"Precision by {name}", (axis, "mean gbar"), sweep(done, column, "gbar"))
    if any("gbar" in row for row in done):
        points = {name: [(seconds, gbar)] for name, (seconds, gbar) in _speed(done).items()}
        axes = ("seconds for a matrix, mean", "mean gbar; lower and further left is better")
        drawn["speed.svg"] = lines_svg("Seconds against precision", axes, points, (True, True))
    return drawn


def ratio_boxes(rows: Sequence[Row], reference: str, names: dict[str, str] = _RATIOS) -> str:
    """Draw ratios to a reference, a panel for each figure and a box for each other method."""
    held = reference_rows(rows, reference)
    by_method: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["method"] != reference:
            by_method[str(row["method"])].append(row)
    panels = {
        title: {method: ratios_to(some, held, figure) for method, some in by_method.items()}
        for figure, title in names.items()
    }
    return boxes_svg(f"How many times {reference}, by matrix", panels)


def sweep(
    rows: Sequence[Row], column: str, figure: str, series: str = "method"
) -> dict[str, list[tuple[float, float]]]:
    """Return for each method the mean of a figure by the values of a column."""
    values: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        at, value = row.get(column), row.get(figure)
        if isinstance(at, int | float) and isinstance(value, int | float):
            values[str(row[series])][float(at)].append(float(value))
    return {name: [(at, float(np.mean(some))) for at, some in sorted(by.items())] for name, by in values.items()}


def _speed(rows: Sequence[Row]) -> dict[str, tuple[float, float]]:
    by_method: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        seconds, gbar = row.get("seconds"), row.get("gbar")
        if isinstance(seconds, int | float) and isinstance(gbar, int | float):
            by_method[str(row["method"])].append((seconds, gbar))
    return {name: tuple(np.mean(some, axis=0).tolist()) for name, some in by_method.items()}
