"""The methods that add noise: which of the registry of all methods they are, and their functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import UnknownNameError
from flowveil._matrices import daf, grids, noisytree, privtree
from flowveil._methods import noisy_methods

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._matrices.boxes import Boxes

MOSAIC = "noisy-mosaic"
LAPLACE = "laplace"
TILE_METHODS = (MOSAIC, LAPLACE)  # that count pairs of tiles, not cells
DEFAULT_METHOD = "daf-entropy"

_FILES = (grids, daf, privtree, noisytree)


def _function(name: str) -> Callable[..., Boxes]:
    """Return the function of a method that releases boxes: it is called like the method."""
    spelled = name.replace("-", "_")
    function: Callable[..., Boxes] = next(getattr(file, spelled) for file in _FILES if hasattr(file, spelled))
    return function


BOX_METHODS = {method.name: _function(method.name) for method in noisy_methods() if method.name not in TILE_METHODS}


def adds_noise(name: str) -> bool:
    """Whether a method adds noise."""
    return name in TILE_METHODS or name in BOX_METHODS


def box_method(name: str) -> Callable[..., Boxes]:
    """Return the function of a method that releases boxes."""
    if name not in BOX_METHODS:
        raise UnknownNameError("method for boxes with noise", name, BOX_METHODS)
    return BOX_METHODS[name]
