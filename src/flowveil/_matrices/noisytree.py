"""Our own for boxes of any number of places: PrivTree, and marginals that tell how trips lie inside its boxes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._matrices.grids import DEFAULT_MAX_CELLS, parts_of
from flowveil._matrices.marginals import count_marginals
from flowveil._matrices.privtree import TREE, grow_boxes

if TYPE_CHECKING:
    from flowveil._matrices.boxes import Boxes
    from flowveil._matrices.points import Points
    from flowveil._noise import Ledger

# Chosen on the synthetic city: docs/noise-measured.md.
TREE_SHARE, MARGINAL_SHARE = 0.3, 0.3


def noisy_tree(
    points: Points,
    ledger: Ledger,
    max_cells: int = DEFAULT_MAX_CELLS,
    tree_share: float = TREE_SHARE,
    marginal_share: float = MARGINAL_SHARE,
) -> Boxes:
    """Count marginals and grow a tree, each for a share of the budget; count the leaves with the rest."""
    tree, marginal = parts_of(tree_share, "tree_share"), parts_of(marginal_share, "marginal_share")
    if tree_share + marginal_share >= 1:
        raise InputError(
            f"tree_share and marginal_share are {tree_share + marginal_share:g} of the budget",
            "leave something for the counts: both together are less than 1",
        )
    marginals = count_marginals(points, ledger, marginal, max_cells)
    boxes = grow_boxes(points, ledger, ledger.grow(TREE, tree, 1 << len(points.lengths)), max_cells)
    return replace(boxes, marginals=marginals)
