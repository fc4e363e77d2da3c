"""The grid that a manifest names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._verify.broken import broken
from flowveil._verify.cell_lattice import CellLattice
from flowveil._verify.cells import Cells
from flowveil._verify.square_lattice import SquareLattice
from flowveil._verify.squares import Squares

if TYPE_CHECKING:
    from flowveil._verify.ground import Ground
    from flowveil._verify.options import Options


def make_grid(options: Options) -> Ground:
    """Return the ground of a release that is not about zones."""
    if options.resolution is not None:
        if options.aspect is not None:
            return CellLattice(options.resolution, aspect=options.aspect, bbox=options.bbox)
        return Cells(options.resolution, binary=options.binary, bbox=options.bbox)
    if options.side is None or options.crs is None:
        raise broken("the manifest does not describe the grid")
    if options.aspect is not None:
        return SquareLattice(options.side, options.crs, options.bbox, aspect=options.aspect)
    return Squares(options.side, options.crs, options.bbox)
