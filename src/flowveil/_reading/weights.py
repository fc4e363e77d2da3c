"""Weights of places that a reader knows: population, land use, or anything that trips go with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil._places import read_shapes
from flowveil._reading.shares import only, overlaps

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import ZonesLike
    from flowveil._reading.spots import Spots

_COLUMN = "weight"
_ELSE = 1e-3  # of the mean density of weights: what a place without a weight gets, as trips may be there all the same


def read_weights(source: ZonesLike, spots: Spots) -> FloatArray:
    """Return the weight of each spot. source: outlines, points or ids of zones, with a column `weight`.

    The weight of an outline lies evenly in it, that of a point in the spot nearest to it.
    """
    ids, weight, shapes = _read(source)
    if spots.zones is not None:
        if ids is None:
            raise InputError(
                "weights have no column zone_id, and the zones of the release no outlines", "give their ids"
            )
        of = dict(zip(ids, weight.tolist(), strict=True))
        mass = np.array([of.get(zone, 0.0) for zone in spots.zones])
        return _not_nothing(mass, spots)
    known = np.array([shape is not None for shape in shapes], bool)
    if not known.any():
        raise InputError("weights have neither outlines nor points", "add a geometry, or the columns lon and lat")
    outlines = only(shapes, shapely.area(shapes) > 0)
    mass = np.zeros(len(spots))
    spot, outline, share = overlaps(spots.shapes(), outlines)
    size = np.bincount(outline, weights=share * spots.size[spot], minlength=len(weight))
    density = np.divide(weight, size, out=np.zeros(len(weight)), where=size > 0)
    np.add.at(mass, spot, share * spots.size[spot] * density[outline])
    points = known & ~(shapely.area(shapes) > 0)
    np.add.at(mass, _nearest(spots, shapes[points]), weight[points])
    return _not_nothing(mass, spots)


def _read(source: ZonesLike) -> tuple[list[str] | None, FloatArray, npt.NDArray[np.object_]]:
    """Return ids if there are any, weights, and shapes: outlines or points."""
    columns, shapes = read_shapes(source, "weights")
    if _COLUMN not in columns:
        raise InputError(f"weights have no column {_COLUMN!r}: found {', '.join(columns)}", f"call it {_COLUMN!r}")
    try:
        weight = np.array([float(value or 0) for value in columns[_COLUMN]])
        lon, lat = ([float(value or "nan") for value in columns.get(name, [])] for name in ("lon", "lat"))
    except ValueError:
        raise InputError("a weight, or its lon or lat, is not a number", "give numbers, and nothing for none") from None
    if not (np.isfinite(weight) & (weight >= 0)).all():
        raise InputError("a weight is below zero, or not finite", "weights are numbers from 0 up")
    if len(lon) == len(lat) == len(shapes) and not any(shape is not None for shape in shapes):
        placed = np.isfinite(lon) & np.isfinite(lat)
        shapes = np.full(len(lon), None, object)
        shapes[placed] = shapely.points(np.array(lon)[placed], np.array(lat)[placed])
    ids = columns.get("zone_id")
    return None if ids is None else [str(value) for value in ids], weight, shapes


def _nearest(spots: Spots, points: npt.NDArray[np.object_]) -> IntArray:
    """Return the spot that is nearest to each point."""
    from scipy.spatial import KDTree  # noqa: PLC0415  slow to import

    center = shapely.centroid(points)
    stretch = np.cos(np.radians(float(np.mean(spots.lat))))
    tree = KDTree(np.column_stack([spots.lon * stretch, spots.lat]))
    nearest = tree.query(np.column_stack([shapely.get_x(center) * stretch, shapely.get_y(center)]))[1]
    return np.asarray(nearest, np.int64)


def _not_nothing(mass: FloatArray, spots: Spots) -> FloatArray:
    """Return weights, with a little everywhere."""
    if not mass.sum() > 0:
        raise InputError(
            "no weight lies where the release has areas", "weights are about the same places, longitude first"
        )
    return mass + _ELSE * float(mass.sum()) / float(spots.size.sum()) * spots.size
