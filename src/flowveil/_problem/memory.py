"""Whether the publishable cells of a problem fit into the memory allowed."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from flowveil._flows import People
from flowveil._options import FLOW_COLUMN, FLOW_VISIT, check_memory

if TYPE_CHECKING:
    from flowveil._flows import Flows

# Bytes beside those of flows, for each pair of tiles, visit, cell, and way to split a cell:
_SOLVING = (50, 0, 90, 30)  # while the best of all cuts is sought
_MEASURING = (15, 40, 44, 14)  # while the persons of its flows are counted
_NUMBER = 8  # a number that a method keeps of each cell
_HINT = "use a coarser grid, larger zones or a larger k, or raise --memory"


def check_cells(flows: Flows, cells: int, splits: int, numbers: int = 0) -> None:
    """Raise if a cube of so many cells and ways to split them, or more, needs more memory than flows were allowed.

    How many cells there are shows only while the cube grows: it is asked again and again.
    numbers: what a method keeps beside it for each cell.
    """
    columns = 3 + flows.divided + sum(column is not None for column in (flows.weight, flows.time))
    visits = len(flows.people.pair) if isinstance(flows.people, People) else 0
    kept = FLOW_COLUMN * columns * len(flows) + FLOW_VISIT * visits
    what = f"{len(flows):,} pairs of tiles with at least {cells:,} pairs of areas that may be published"
    counts = (len(flows), visits, cells, splits)
    more = max(sum(map(prod, zip(share, counts, strict=True))) for share in (_SOLVING, _MEASURING))
    more += _NUMBER * numbers * cells
    check_memory(flows.memory, kept + more, what, _HINT)
