"""Boxes with noise as flows between areas: a box of origins and destinations is a flow from a rectangle to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._errors import InputError
from flowveil._folder import CELLS, SIDES

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import IntArray
    from flowveil._folder import Files

_ID = "{}-{},{}-{}"  # of a rectangle: from and to before, in cells of the grid, along both axes


def flows_of_boxes(files: Files) -> tuple[pa.Table, pa.Table]:
    """Return flows (origin, destination, trips, nonnegative, scale) and areas of a release of boxes.

    Stops in between may be anywhere. Raise InputError if its boxes have no origin and destination.
    """
    options, cells = files.manifest["options"], files.tables[CELLS]
    if not set(SIDES) <= set(options["places"]):
        raise InputError(
            f"the boxes of this release have no origin and destination, but {', '.join(options['places'])}",
            "flowveil query asks it about each of them",
        )
    flows, parts = {}, []
    for side in SIDES:
        edges = _edges(cells, 2 * options["places"].index(side))
        used, row = np.unique(edges, axis=0, return_inverse=True)
        names = np.array([_ID.format(*edge) for edge in used.tolist()], object)
        flows[side] = pa.array(names[row.ravel()], pa.string())
        parts.append(_areas(used, names, side, options["bbox"], options["cells"]))
    kept = {"trips": cells["count"], "nonnegative": cells["nonnegative"], "scale": cells["scale"]}
    return pa.table({**flows, **kept}), pa.concat_tables(parts)


def _edges(cells: pa.Table, axis: int) -> IntArray:
    """Return one row a box: from and to before, along two axes."""
    names = [f"{end}_{number}" for number in (axis, axis + 1) for end in ("low", "high")]
    return np.column_stack([cells[name].to_numpy() for name in names])


def _areas(edges: IntArray, names: npt.NDArray[np.object_], side: str, bbox: list[float], cells: int) -> pa.Table:
    """Return rectangles as areas."""
    west, south, east, north = bbox
    lon = west + (east - west) * edges[:, :2] / cells
    lat = south + (north - south) * edges[:, 2:] / cells
    shapes = shapely.box(lon[:, 0], lat[:, 0], lon[:, 1], lat[:, 1])
    return pa.table(
        {
            "area": pa.array(names, pa.string()),
            "side": pa.array([side] * len(edges), pa.string()),
            "name": pa.nulls(len(edges), pa.string()),
            "lon": lon.mean(axis=1),
            "lat": lat.mean(axis=1),
            "tiles": np.prod(edges[:, 1::2] - edges[:, ::2], axis=1),
            "geometry": pa.array(shapely.to_wkb(shapes).tolist(), pa.binary()),
        }
    )
