"""A scene as a page draws it: areas, the strongest movements of each matrix, and what all others add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._report.hours import hours
from flowveil._report.outlines import draw, draw_boxes, draw_rings, find_step
from flowveil._report.packing import pack, pack_boxes, pack_outlines, pack_steps
from flowveil._report.scene import NOWHERE, significant, widened

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._report.scene import Key, Scene, Spread

MOST_MOVEMENTS = 100_000  # listed in a page: more would not fit into three megabytes
_DEGREES = 1e-5  # of centers: a meter
_HUNDREDTHS = 100
_SPREAD_PARTS = 10_000  # of a trip: what is added and taken must cancel out


def drawing(scene: Scene) -> dict[str, Json]:
    """Return what the page draws from."""
    positions, matrix = scene.matrices
    listed = strongest(scene.volume, matrix)
    rows = np.flatnonzero(listed)
    found: dict[str, Json] = {
        **ground(scene),
        "areas": _areas(scene),
        "movements": len(scene.origin),
        "listed": len(rows),
        "origin": pack_steps(scene.origin[rows]),
        "destination": pack(scene.destination[rows]),
        "matrix": pack_steps(matrix[rows]),
        "amounts": {name: pack(values[rows]) for name, values in scene.amounts.items()},
        "keys": [_key(key) for key in scene.keys],
        "matrices": _matrices(scene, positions, matrix),
        "remainder": None if scene.remainder is None else pack(scene.remainder[rows]),
        "spread": None if scene.spread is None else _spread(scene.spread, matrix, listed),
        "deviation": None if scene.deviation is None else pack(_hundredths(scene.deviation[rows])),
        "others": None if listed.all() else [_others(scene, matrix, ~listed, ends) for ends in _sides(scene)],
    }
    return found if scene.spans is None else found | {"samples": hours(scene.spans, scene.volume, rows)}


def ground(scene: Scene) -> dict[str, Json]:
    """Return sides, view, land, what the publisher shows beside the release, and outlines."""
    view = scene.view()
    wide = _wide(scene.extent(), view)
    extent = max(view[2] - view[0], view[3] - view[1])
    if scene.spans is not None:  # every box once: there are too many for outlines
        step, outlines = find_step(extent), None
        number = shaped = list(range(len(scene.names)))
    else:
        step, outlines, number = draw(scene.shapes, extent)
        first = np.unique(np.array(number, np.int64), return_index=True)[1]
        shaped = [row for row in first.tolist() if number[row] >= 0]
    return {
        "sides": list(scene.sides),
        "view": view,
        "step": step,
        "land": pack_outlines([draw_rings(scene.ground.around(wide, view), step)]),
        "context": _context(scene, wide, view, step),
        "outlines": pack_boxes(draw_boxes(scene.shapes, step)) if outlines is None else pack_outlines(outlines),
        "outline": pack_steps(number),
        "km2": [significant(scene.sizes[row]) for row in shaped],
    }


def strongest(volume: IntArray, matrix: IntArray) -> BoolArray:
    """Return which movements a page lists: the strongest of each matrix, as many of each as there is room for.

    All matrices have the same budget, so that a quiet hour is shown as well as a busy one.
    """
    order = np.lexsort((-volume, matrix))
    _, first, count = np.unique(matrix[order], return_index=True, return_counts=True)
    rank = np.empty(len(volume), np.int64)
    rank[order] = np.arange(len(volume)) - np.repeat(first, count)
    budget = int(count.max()) if len(count) else 0
    low = 0
    while low < budget:  # the largest budget of a matrix with which all of them fit
        middle = (low + budget + 1) // 2
        if int(np.minimum(count, middle).sum()) <= MOST_MOVEMENTS:
            low = middle
        else:
            budget = middle - 1
    return np.asarray(rank < budget, bool)


def _areas(scene: Scene) -> dict[str, Json]:
    if scene.spans is not None:  # the page names boxes by their corners
        return {"id": None, "label": None, "side": pack_steps(scene.side), "placeless": [], "tiles": None}
    placed = np.isfinite(scene.lon)
    centers = (np.rint(np.where(placed, values, 0) / _DEGREES).astype(np.int64) for values in (scene.lon, scene.lat))
    lon, lat = (pack_steps(values) for values in centers)
    return {
        "id": scene.names,
        "label": scene.labels,
        "side": pack_steps(scene.side),
        "lon": lon,
        "lat": lat,
        "placeless": np.flatnonzero(~placed).tolist(),
        "tiles": None if scene.tiles is None else pack(scene.tiles),
    }


def _key(key: Key) -> dict[str, Json]:
    found: dict[str, Json] = {"name": key.name, "total": key.total, "time": key.time}
    if key.steps is None:
        return found | {"values": key.values, "hours": key.hours}
    spans = [pack(key.steps.first), pack(key.steps.last)]
    return found | {"values": key.steps.labels, "hours": key.steps.hours, "spans": spans}


def _matrices(scene: Scene, positions: IntArray, matrix: IntArray) -> dict[str, Json]:
    """Return for each matrix its values of all keys, and the sums and the number of all its movements."""
    amounts = np.zeros(len(positions), np.int64)
    np.add.at(amounts, matrix, scene.volume)
    found: dict[str, Json] = {
        "positions": [pack(column) for column in positions.T],
        "amounts": amounts.tolist(),
        "movements": np.bincount(matrix, minlength=len(positions)).tolist(),
    }
    if scene.deviation is None:
        return found
    variance = np.bincount(matrix, scene.deviation**2, len(positions))
    return found | {"deviation": [significant(float(value)) for value in np.sqrt(variance)]}


def _others(scene: Scene, matrix: IntArray, unlisted: BoolArray, ends: IntArray) -> dict[str, str]:
    """Return what movements that are not listed add up to, by matrix and area of one side."""
    rows = np.flatnonzero(unlisted & (ends != NOWHERE))
    pairs, group = np.unique(np.column_stack([matrix[rows], ends[rows]]), axis=0, return_inverse=True)
    amounts = np.zeros(len(pairs), np.int64)
    np.add.at(amounts, group.ravel(), scene.volume[rows])
    found = {
        "matrix": pack_steps(pairs[:, 0]),
        "area": pack_steps(pairs[:, 1]),
        "amount": pack(amounts),
        "movements": pack(np.bincount(group.ravel(), minlength=len(pairs))),
    }
    if scene.deviation is None:
        return found
    variance = np.bincount(group.ravel(), scene.deviation[rows] ** 2, len(pairs))
    return found | {"deviation": pack(_hundredths(np.sqrt(variance)))}


def _spread(spread: Spread, matrix: IntArray, listed: BoolArray) -> dict[str, str]:
    """Return what is added and taken: the listed movement that it is about (-1: another), its matrix, ends, amount."""
    number = np.where(listed, np.cumsum(listed) - 1, -1)
    return {
        "of": pack_steps(number[spread.of]),
        "matrix": pack_steps(matrix[spread.of]),
        "origin": pack_steps(spread.origin),
        "destination": pack(spread.destination),
        "amount": pack(np.rint(spread.amount * _SPREAD_PARTS).astype(np.int64)),
    }


def _sides(scene: Scene) -> list[IntArray]:
    return [scene.origin, scene.destination][: len(scene.sides)]


def _hundredths(deviation: FloatArray) -> IntArray:
    hundredths: IntArray = np.rint(deviation * _HUNDREDTHS).astype(np.int64)
    return hundredths


def _wide(whole: list[float], view: list[float]) -> list[float]:
    """Return a box around what can be seen."""
    far = [max(whole[2], view[2]), max(whole[3], view[3])]
    return widened(widened([min(whole[0], view[0]), min(whole[1], view[1]), *far], 0.5), 0.5)


def _context(scene: Scene, wide: list[float], view: list[float], step: float) -> list[dict[str, Json]]:
    context = scene.ground.context
    layers = [] if context is None else context.around(wide, view, step)
    if layers and not any(layer["areas"] or layer["lines"] for layer in layers):
        raise InputError(
            "nothing of the context lies around the published areas",
            "check its coordinates: degrees, or any CRS that the file names; or leave out --context",
        )
    return [layer | {part: pack_outlines([layer[part]]) for part in ("areas", "lines")} for layer in layers]
