"""Building the cube of a problem: the cells of runs of matrices, linked, and put one after the other."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import Crowds
from flowveil._problem.crowd_cells import cells_of_crowds
from flowveil._problem.cube import Cube
from flowveil._problem.links import find_links, join_links
from flowveil._problem.search import Search
from flowveil._problem.sheets import part_by, runs_of
from flowveil._processes import at_once

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._problem.problem import Problem
    from flowveil._problem.search import Cells
    from flowveil._problem.sheets import Groups


def build_cube(problem: Problem) -> Cube:
    """Find all publishable cells of a problem."""
    if prod([problem.flows.matrix_count, *(len(dimension.family) for dimension in problem.dimensions)]) >= 2**63:
        raise InputError("the hierarchies are too large to be combined", "use coarser tiles or fewer axes")
    if isinstance(problem.flows.people, Crowds):
        return _link(problem, *cells_of_crowds(problem, problem.flows.people))
    search = Search(problem)

    def build(run: Groups) -> Cube:
        for axis in problem.axes[2:]:
            run = part_by(run, axis)
        return _link(problem, run.node, search.find(run))

    return _join(at_once(build, runs_of(problem.flows)))


def _link(problem: Problem, sheets: IntArray, cells: Cells) -> Cube:
    """Return the cube of the cells of some sheets; these are given by matrix and area on the third axis, if any."""
    flows, dimensions, sizes = problem.flows, problem.dimensions, np.diff(cells.edges)
    node = np.vstack([cells.origin, cells.destination, *np.repeat(sheets[1:], sizes, axis=1)]).astype(np.int64)
    tiles = np.zeros(len(cells.trips), np.int64)
    for row, dimension in zip(node, dimensions, strict=True):
        if dimension.is_place:
            tiles += dimension.family.tiles[row]
    return Cube(
        node=node,
        trips=cells.trips,
        tiles=tiles,
        loss=cells.loss,
        links=find_links(dimensions, cells, sheets, flows.total),
        edges=cells.edges[np.searchsorted(sheets[0], np.arange(flows.matrix_count + 1))],
        total=flows.total,
        price=1.0 if problem.loss == "reconstruction" else 0.0,
    )


def _join(runs: list[Cube]) -> Cube:
    """Put the cells of runs of matrices one after the other."""
    if len(runs) == 1:
        return runs[0]
    names = ("node", "trips", "tiles", "loss")
    columns = {name: [getattr(run, name) for run in runs] for name in names}
    joined = at_once(lambda parts: np.concatenate(parts, axis=-1), columns.values())
    whole: dict[str, Any] = dict(zip(columns, joined, strict=True))  # Any: fields of several types
    links = join_links([run.links for run in runs])
    return replace(runs[0], edges=np.sum([run.edges for run in runs], axis=0), links=links, **whole)
