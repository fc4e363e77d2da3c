"""Building the cube of a problem: the cells of runs of matrices, linked, and put one after the other."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import Crowds
from flowveil._problem.crowd_cells import cells_of_crowds
from flowveil._problem.cube import Cube
from flowveil._problem.kept import keep_safe
from flowveil._problem.links import find_links, join_links
from flowveil._problem.search import Search
from flowveil._problem.sheets import part_by
from flowveil._processes import at_once, work_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from flowveil._arrays import IntArray
    from flowveil._problem.problem import Problem
    from flowveil._problem.search import Cells
    from flowveil._problem.sheets import Groups


def build_cube(problem: Problem) -> Cube:
    """Find all publishable cells of a problem."""
    _check_sizes(problem)
    if isinstance(problem.flows.people, Crowds):
        return link_cells(problem, *cells_of_crowds(problem, problem.flows.people))
    return build_in_runs(problem, problem.runs, lambda cube: cube)


def build_in_runs(problem: Problem, runs: Sequence[Groups], reduce: Callable[[Cube], Cube]) -> Cube:
    """Return what a function leaves of the cells of each run of matrices, the runs one after the other.

    What it leaves out is never there for all runs at once.
    """
    _check_sizes(problem)
    search = Search(problem)

    def build(run: Groups) -> Cube:
        sheets = run
        for axis in problem.axes[2:]:
            sheets = part_by(sheets, axis)
        cube = reduce(link_cells(problem, sheets.node, search.find(sheets)))
        search.settle(sheets, len(cube), len(cube.links.axis))
        return cube

    return _join(at_once(build, runs))


def find_cells(problem: Problem) -> Iterator[Cells]:
    """Yield the publishable cells of runs of matrices, without links; time is no axis of theirs."""
    _check_sizes(problem)
    if isinstance(problem.flows.people, Crowds):
        yield cells_of_crowds(problem, problem.flows.people)[1]
        return
    search = Search(problem)

    def find(run: Groups) -> Cells:
        cells = search.find(run)
        search.settle(run, 0, 0)  # they are not kept
        return cells

    yield from work_ahead(find, problem.runs)


def _check_sizes(problem: Problem) -> None:
    if prod([problem.flows.matrix_count, *(len(dimension.family) for dimension in problem.dimensions)]) >= 2**63:
        raise InputError("the hierarchies are too large to be combined", "use coarser tiles or fewer axes")


def link_cells(problem: Problem, sheets: IntArray, cells: Cells) -> Cube:
    """Return the cube of the cells of some sheets; these are given by matrix and area on the third axis, if any."""
    flows, dimensions, sizes = problem.flows, problem.dimensions, np.diff(cells.edges)
    node = np.empty((len(dimensions), len(cells.trips)), np.int64)
    node[0], node[1], node[2:] = cells.origin, cells.destination, np.repeat(sheets[1:], sizes, axis=1)
    tiles = np.zeros(len(cells.trips), np.int64)
    for row, dimension in zip(node, dimensions, strict=True):
        if dimension.is_place:
            tiles += dimension.family.tiles[row]
    cube = Cube(
        node=node,
        trips=cells.trips,
        tiles=tiles,
        loss=cells.loss,
        links=find_links(dimensions, cells, sheets, flows.total),
        edges=cells.edges[np.searchsorted(sheets[0], np.arange(flows.matrix_count + 1))],
        total=flows.total,
        price=1.0 if problem.loss == "reconstruction" else 0.0,
    )
    if problem.keep_safe:
        return keep_safe(cube)
    if problem.chance is None:
        return cube
    return problem.chance.close(cube, np.repeat(sheets[0], sizes), dimensions, problem.requirement.k)


def _join(runs: list[Cube]) -> Cube:
    """Put the cells of runs of matrices one after the other; the list is empty afterwards."""
    if len(runs) == 1:
        return runs[0]
    total, price, complete = runs[0].total, runs[0].price, runs[0].complete
    edges = np.sum([run.edges for run in runs], axis=0)
    links = [run.links for run in runs]
    columns = {name: [getattr(run, name) for run in runs] for name in ("node", "trips", "tiles", "loss")}
    runs.clear()

    def joined(name: str) -> npt.NDArray[Any]:  # Any: columns of several types
        return np.concatenate(columns.pop(name), axis=-1)  # each is freed when it is joined

    cells = joined("node"), joined("trips"), joined("tiles"), joined("loss")
    return Cube(*cells, join_links(links), edges, total, price, complete)
