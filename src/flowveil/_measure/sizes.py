"""How large areas are: tiles, square kilometers, and where their centers lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import ROOT, NodeAreas

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._places import Areas, Hierarchy


def count_tiles(areas: Areas, numbers: IntArray, tiles: str) -> FloatArray:
    """Return the tiles of areas, of the "tree" or "all"; NaN where they are not known."""
    distinct, position = np.unique(numbers, return_inverse=True)
    known = areas.tiles(distinct) if tiles == "tree" else areas.describe(distinct).tiles
    return np.asarray(np.where(known < 0, np.nan, known)[position], np.float64)


def axis_tiles(flows: Flows, side: int, tiles: str) -> float:
    """Return the tiles of a whole axis, NaN where they are not known."""
    tree = (flows.origins, flows.destinations)[side]
    return float(count_tiles(NodeAreas(flows.places, tree), np.array([ROOT]), tiles)[0])


def centers(areas: Areas, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return longitude and latitude of the centers of areas."""
    distinct, position = np.unique(numbers, return_inverse=True)
    lon, lat = areas.centers(distinct)
    return lon[position], lat[position]


def sizes(areas: Areas, numbers: IntArray) -> FloatArray:
    """Return the size of areas in square kilometers, NaN where it is not known."""
    distinct, position = np.unique(numbers, return_inverse=True)
    return areas.square_kilometers(distinct)[position]


def leaf_places(tree: Hierarchy, leaf: IntArray) -> IntArray:
    """Return where leaves are in the list of all leaves of a tree."""
    return (np.cumsum(tree.is_leaf) - 1)[leaf]
