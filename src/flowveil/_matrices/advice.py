"""What error to expect of each method and epsilon, learned from a synthetic city: no private data is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._matrices.area_workloads import answer_leaves, lay_grid
from flowveil._matrices.boxes import Boxes
from flowveil._matrices.build import DEFAULT_CELLS, build_matrix, build_tile_matrix
from flowveil._matrices.methods import BOX_METHODS, MOSAIC
from flowveil._matrices.mosaic import Leaves
from flowveil._matrices.release import add_noise
from flowveil._matrices.tiles import TileGrid
from flowveil._matrices.workloads import answer_boxes, make_workload, mre
from flowveil._options import parse_bound, parse_cells, parse_epsilons, parse_whole
from flowveil._synthetic import CITY_BBOX, City

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._arrays import IntArray
    from flowveil._matrices.points import Matrix
    from flowveil._matrices.workloads import Workload

_QUERIES = 200
_WORKLOADS = (("random", "uniform"), ("5%", "records"), ("10%", "records"))
_MOST_TRIPS = 5_000_000
WARNING = (
    "These figures come from a synthetic city, so looking at them costs nothing. Trying several methods or epsilons on "
    "private data does: every release spends its own epsilon, and they add up, whether or not it is published."
)


def parse_trips(value: object) -> int:
    """Return about how many trips there are."""
    return parse_whole(value, "trips", f"give a whole number from 1 to {_MOST_TRIPS:,}", 1, _MOST_TRIPS)


def advise(
    epsilons: str | Iterable[float], trips: int = 200_000, max_trips_per_person: int = 1, cells: int = DEFAULT_CELLS
) -> list[dict[str, float | str | None]]:
    """Return for each epsilon and method the boxes of a release and its mean relative error in percent.

    trips: about how many trips you have, as far as the public knows. max_trips_per_person: what one person may
    contribute; 1 also stands for protecting single trips.
    epsilons: budgets for one unit. cells: parts of each side of the box.

    >>> for row in fv.advise([1.0], trips=1_000, cells=20)[:2]:
    ...     print(row["method"], row["boxes"])
    identity 160000
    uniform 1
    """
    budgets, cells = parse_epsilons(epsilons), parse_cells(cells)
    trips = parse_trips(trips)
    most = parse_bound(max_trips_per_person)
    if not isinstance(most, int):
        raise InputError("auto needs trips of persons, and advice has none", "give --max-trips-per-person N")
    city = City(persons=max(1, trips // 20)).trips(trips)
    matrix, tiles = build_matrix(city, CITY_BBOX, cells), build_tile_matrix(city, CITY_BBOX)
    workloads = [make_workload(matrix.points, *kind, queries=_QUERIES) for kind in _WORKLOADS]
    lattice = lay_grid(tiles.grid, cells) if isinstance(tiles.grid, TileGrid) else np.zeros((0, 0), np.int64)
    return [
        {
            "epsilon": epsilon,
            "method": name,
            **_try(tiles if name == MOSAIC else matrix, name, epsilon / most, workloads, lattice),
        }
        for epsilon in budgets
        for name in (*BOX_METHODS, MOSAIC)
    ]


def _try(
    matrix: Matrix, name: str, epsilon: float, workloads: list[Workload], lattice: IntArray
) -> dict[str, float | str | None]:
    """Release the city once and measure; figures are null where the method refuses."""
    try:
        release = add_noise(matrix, name, epsilon)
    except InputError as refused:
        return {"boxes": None, "refused": refused.message, **{workload.name: None for workload in workloads}}
    boxes = release.boxes
    figures: dict[str, float | str | None] = {"boxes": len(release.counts), "refused": None}
    for workload in workloads:
        if isinstance(boxes, Boxes):
            answers = answer_boxes(workload, boxes)
        elif isinstance(matrix.grid, TileGrid) and isinstance(boxes, Leaves):
            answers = answer_leaves(workload, matrix.grid, boxes, lattice)
        figures[workload.name] = mre(workload, answers)["mre"]
    return figures
