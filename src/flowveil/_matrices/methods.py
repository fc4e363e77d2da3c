"""Which function a method that adds noise is; what it promises and takes stands in the registry of all methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import UnknownNameError
from flowveil._matrices import daf, grids

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._matrices.boxes import Boxes

MOSAIC = "noisy-mosaic"
LAPLACE = "laplace"
TILE_METHODS = (MOSAIC, LAPLACE)  # that count pairs of tiles, not cells
DEFAULT_METHOD = "daf-entropy"

BOX_METHODS: dict[str, Callable[..., Boxes]] = {
    "identity": grids.identity,
    "uniform": grids.uniform,
    "eug": grids.eug,
    "eug-border": grids.eug_border,
    "ebp": grids.ebp,
    "mkm": grids.mkm,
    "daf-entropy": daf.daf_entropy,
    "daf-homogeneity": daf.daf_homogeneity,
}


def adds_noise(name: str) -> bool:
    """Whether a method adds noise."""
    return name in TILE_METHODS or name in BOX_METHODS


def box_method(name: str) -> Callable[..., Boxes]:
    """Return the function of a method that releases boxes."""
    if name not in BOX_METHODS:
        raise UnknownNameError("method for boxes with noise", name, BOX_METHODS)
    return BOX_METHODS[name]
