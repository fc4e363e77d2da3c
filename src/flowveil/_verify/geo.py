"""Geometry as areas.parquet holds it: plain WKB, outlines vertex by vertex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._folder import shapes_from_wkb
from flowveil._verify.broken import broken

if TYPE_CHECKING:
    import numpy.typing as npt

# GeoParquet 1.1 with the default CRS, written in this one way.
GEO = (
    b'{"version": "1.1.0", "primary_column": "geometry", '
    b'"columns": {"geometry": {"encoding": "WKB", "geometry_types": []}}}'
)
TOLERANCE = 1e-9  # degrees, a tenth of a millimeter: what rounding differs by between machines, and no more


def read_shapes(geometry: list[bytes | None]) -> npt.NDArray[np.object_]:
    """Return the shapes of areas."""
    try:
        shapes = shapes_from_wkb(geometry)
    except ValueError:
        raise broken("a geometry of areas.parquet is not WKB") from None
    # Written again, a shape has lost heights, an SRID and bytes after its end.
    again = shapely.to_wkb(shapes, output_dimension=2, byte_order=1)
    if not np.isfinite(shapely.get_coordinates(shapes)).all():
        raise broken("a geometry of areas.parquet is not finite")
    if again.tolist() != geometry:
        raise broken("a geometry of areas.parquet is not plain WKB in two dimensions")
    return shapes


def is_outline(shape: shapely.Geometry | None, outline: shapely.Geometry | None, *, united: bool = False) -> bool:
    """Whether a shape is an outline, vertex by vertex; None stands for no shape.

    united: the outline was united from parts, so that the first vertex of a ring is GEOS' choice.
    """
    if shape is None or outline is None:
        return shape is outline
    if united:
        shape, outline = shapely.normalize(shape), shapely.normalize(outline)
    return bool(shapely.equals_exact(shape, outline, TOLERANCE))
