"""Rivers, roads and the like of the publisher's own, which a map shows beside a release.

NumPy only beyond reading, so that the same file and view give the same numbers with every version of every library.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil._places import read_shapes
from flowveil._report.shoreline import clip_to_box

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray
    from flowveil._folder import Json
    from flowveil._places import ZonesLike

STYLES = ("park", "water", "border", "rail", "road", "river", "other")  # in the order in which they are drawn
_COLUMNS = ("layer", "kind")
_MOST_POINTS = 40_000  # in a page
_PLACES = 2_000  # told apart along a side of the first view


@dataclass(frozen=True, eq=False)
class Context:
    """Shapes by style, each whether it is closed and its points in degrees."""

    shapes: dict[str, list[tuple[bool, FloatArray]]]

    @property
    def styles(self) -> list[str]:
        """The styles that occur, in their order."""
        return [style for style in STYLES if style in self.shapes]

    def around(self, wide: list[float], view: list[float], step: float) -> list[dict[str, Json]]:
        """Return what lies in a wide box by style: areas and lines as first point and ways, in steps."""
        fine = max(max(view[2] - view[0], view[3] - view[1]) / _PLACES, step)
        while True:
            layers = [self._layer(style, wide, fine, step) for style in self.styles]
            points = sum(len(line) for layer in layers for part in ("areas", "lines") for line in layer[part]) // 2
            if points <= _MOST_POINTS:
                return layers
            fine *= 2

    def _layer(self, style: str, wide: list[float], fine: float, step: float) -> dict[str, Json]:
        layer: dict[str, Json] = {"style": style, "areas": [], "lines": []}
        for closed, points in self.shapes[style]:
            parts = [clip_to_box(points, wide)] if closed else _runs(points, wide)
            drawn = [_ways(part, fine, step) for part in parts]
            layer["areas" if closed else "lines"] += [way for way in drawn if len(way) >= (6 if closed else 4)]
        return layer


def read_context(source: ZonesLike) -> Context:
    """Read lines and areas from GeoJSON or GeoParquet; a column `layer` or `kind` says which style each has."""
    texts, geometry = read_shapes(source, "context")
    column = next((name for name in texts if name.casefold() in _COLUMNS), None)
    shapes: dict[str, list[tuple[bool, FloatArray]]] = {}
    for row, shape in enumerate(geometry.tolist()):
        style = None if column is None else texts[column][row]
        drawn = _drawn(shape)
        if drawn:
            shapes.setdefault(style if style in STYLES else "other", []).extend(drawn)
    if not shapes:
        raise InputError("the context has no lines or areas", "give GeoJSON or GeoParquet with lines or polygons")
    return Context(shapes)


def _drawn(shape: shapely.Geometry | None) -> list[tuple[bool, FloatArray]]:
    """Return the rings and lines of a shape; points are left out."""
    found: list[tuple[bool, FloatArray]] = []
    waiting = [] if shape is None else [shape]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, shapely.Polygon):
            found += [(True, shapely.get_coordinates(ring)[:-1]) for ring in shapely.get_rings(part)]
        elif isinstance(part, shapely.LineString):
            found.append((False, shapely.get_coordinates(part)))
        else:
            waiting += getattr(part, "geoms", ())
    return [(closed, points) for closed, points in found if len(points) > 1 and np.isfinite(points).all()]


def _runs(line: FloatArray, box: list[float]) -> list[FloatArray]:
    """Return the parts of a line that may lie in a box: whole segments, by their bounds, so that none is missed."""
    low, high = np.minimum(line[:-1], line[1:]), np.maximum(line[:-1], line[1:])
    meets = np.all((high >= np.array(box[:2])) & (low <= np.array(box[2:])), axis=1)
    near = np.append(meets, False) | np.append(False, meets)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]]).astype(np.int8)))
    return [line[start:end] for start, end in edges.reshape(-1, 2).tolist()]


def _ways(points: FloatArray, fine: float, step: float) -> list[int]:
    """Return the first point and the way to each next one in steps, without points in the cell of the one before."""
    if not len(points):
        return []
    cell = np.floor(points / fine)
    moved = np.append(True, (cell[1:] != cell[:-1]).any(axis=1))
    moved[-1] = True
    grid = np.rint(points[moved] / step).astype(np.int64).tolist()
    places = [grid[0], *(place for before, place in pairwise(grid) if place != before)]
    return [*places[0], *(part for (x, y), (u, v) in pairwise(places) for part in (u - x, v - y))]
