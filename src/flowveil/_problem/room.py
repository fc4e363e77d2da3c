"""Whether the publishable cells of a problem fit into the memory allowed."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from flowveil._flows import People
from flowveil._options import FLOW_COLUMN, FLOW_VISIT, check_room

if TYPE_CHECKING:
    from flowveil._flows import Flows

# Bytes beside those of flows, for each pair of tiles, visit and cell:
_SOLVING = (50, 0, 150)  # while the best of all cuts is sought
_MEASURING = (15, 40, 70)  # while the persons of its flows are counted
_HINT = "use a coarser grid, larger zones or a larger k, or raise --memory"


def check_cells(flows: Flows, cells: int) -> None:
    """Raise if a cube of so many cells is more than what flows were allowed; they are not counted before it grows."""
    columns = 3 + sum(column is not None for column in (flows.weight, flows.matrix, flows.time))
    visits = len(flows.people.pair) if isinstance(flows.people, People) else 0
    kept = FLOW_COLUMN * columns * len(flows) + FLOW_VISIT * visits
    what = f"{len(flows):,} pairs of tiles with at least {cells:,} pairs of areas that may be published"
    counts = (len(flows), visits, cells)
    more = max(sum(map(prod, zip(share, counts, strict=True))) for share in (_SOLVING, _MEASURING))
    check_room(flows.memory, kept + more, what, _HINT)
