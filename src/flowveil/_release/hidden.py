"""What a sum tells of its hidden parts.

A part that is not published is below the threshold, or it would have been. So a sum over few parts may leave none of
them free to be empty: 18 trips in two parts of at most 9 are 9 and 9. A sum may be told only if each part may still be
anything from nobody to one less than a crowd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Measures
    from flowveil._places import Hierarchy
    from flowveil._problem import Requirement


def pins_down(requirement: Requirement, sums: Measures, fewest: IntArray, most: IntArray | None = None) -> BoolArray:
    """Which sums tell that some part is not empty, if they have at least `fewest` hidden parts, each below a crowd.

    most: the most parts there can be; a sum that is too large for them tells only that parts are no longer so small.
    Where persons and weight are tested, a part is hidden if it fails one of both, so that no sum is too large.
    """
    pinned = np.zeros(len(fewest), bool)
    crowd = sums.trips if sums.persons is None else sums.persons
    for size, largest in ((crowd, requirement.k - 1), (sums.weight, requirement.least_weight - 1)):
        if size is not None and largest > 0:
            tells = size > np.maximum(fewest - 1, 0) * largest
            pinned |= tells if most is None or requirement.k_weight is not None else tells & (size <= most * largest)
    return pinned


class Unreached:
    """How many parts a place does not reach, by what is published of it.

    Parts are the largest areas of a tree with no flow from the place, among those in which some other flow ends.
    """

    def __init__(self, tree: Hierarchy, reached: IntArray) -> None:
        """Know the areas (nodes) in which flows end."""
        self._parent = tree.parent
        known = np.zeros(len(tree), bool)
        _climb(tree.parent, known, reached)
        self._children = np.bincount(tree.parent[np.flatnonzero(known)[1:]], minlength=len(tree))
        self._touched = np.zeros(len(tree), bool)

    def count(self, own: IntArray) -> int:
        """Return how many there are for a place whose flows end in these disjoint areas."""
        if not len(own):
            return 1
        nodes = _climb(self._parent, self._touched, own)
        self._touched[nodes] = False
        # Each area that holds an end has its children that do, which are in `nodes` too, and the others.
        return int(self._children[nodes].sum() - self._children[own].sum()) - (len(nodes) - 1)


def _climb(parent: IntArray, marked: BoolArray, nodes: IntArray) -> IntArray:
    """Mark nodes and all above them; return those that were not marked before."""
    levels = []
    nodes = np.unique(nodes)
    while len(nodes):
        nodes = nodes[~marked[nodes]]
        marked[nodes] = True
        levels.append(nodes)
        nodes = np.unique(parent[nodes])
        nodes = nodes[nodes >= 0]
    return np.concatenate(levels) if levels else nodes
