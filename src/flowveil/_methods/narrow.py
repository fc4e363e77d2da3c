"""Best cuts at prices between two: most cells are in none of them, and need no look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._processes import at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._methods.cuts import Cut, Splits
    from flowveil._methods.kernels import Cells
    from flowveil._methods.narrow_kernels import Marked, Narrow
    from flowveil._problem import Cube, Run


@dataclass(frozen=True, eq=False)
class Between:
    """The cuts of a set that are best at some price between two, and some others."""

    splits: Splits
    runs: Sequence[Narrow]

    def best(self, lam: float) -> Cut:
        """Return the cut of least loss plus `lam` times suppressed trips, `lam` being between the two prices."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        cube = self.splits.cube
        choice = np.zeros(len(cube), np.int8)  # a cell that was left out is not reached

        def follow(run: Narrow) -> IntArray:
            chosen = kernels.choose(lam + cube.price, 0, len(run.number), run.cells).choice
            way = run.split[(run.cells.first_split[:-1] + chosen - 1)[chosen > 0]]
            choice[run.number] = chosen
            choice[run.number[chosen > 0]] = way - cube.links.first_split[run.number[chosen > 0]] + 1
            published: IntArray = run.number[kernels.publish(run.edges, chosen, run.cells)]
            return published

        return self.splits.cut(lam, choice, at_once(follow, self.runs))


def between(splits: Splits, low: float, high: float) -> Between:
    """Return the cuts that are best at some price between two."""
    cube = splits.cube

    def narrow(run: Run) -> Narrow:
        edges = cube.edges[run.matrices.start : run.matrices.stop + 1]
        return _narrow(edges, splits.cells, low + cube.price, high + cube.price)

    return Between(splits, at_once(narrow, cube.runs))


def cube_between(splits: Splits, low: float, high: float) -> Cube:
    """Return the cells that cuts best at some price between two need, and all below those that they may publish.

    Splits that are no use are not possible any more. So best cuts at these prices are the same, and so is what they
    become when published cells are split further.
    """
    cube = splits.cube
    edges, prices = np.unique(cube.edges), (low + cube.price, high + cube.price)
    if not len(cube):
        return cube
    marked = _mark(edges, splits.cells, *prices, below=True)
    less = cube.part(marked.reached)
    useful = (cube.links.splittable & marked.useful)[np.repeat(marked.reached, np.diff(cube.links.first_split))]
    return replace(less, links=less.links._replace(splittable=useful), complete=False)


def _narrow(edges: IntArray, cells: Cells, low: float, high: float) -> Narrow:
    from flowveil._methods import narrow_kernels  # noqa: PLC0415 numba is slow to import

    narrow: Narrow = narrow_kernels.keep(edges, _mark(edges, cells, low, high, below=False), cells)
    return narrow


def _mark(edges: IntArray, cells: Cells, low: float, high: float, *, below: bool) -> Marked:
    from flowveil._methods import kernels, narrow_kernels  # noqa: PLC0415 numba is slow to import

    one, other = (kernels.choose(price, edges[0], edges[-1], cells) for price in (low, high))
    ends = narrow_kernels.Ends(one, other, kernels.lose(one, cells), kernels.lose(other, cells))
    marked: Marked = narrow_kernels.mark(edges, ends, below, cells)
    return marked
