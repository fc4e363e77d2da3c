"""Pairs of tiles that pass by themselves, kept as they are: no larger pair that holds one may be published whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray
    from flowveil._problem.cube import Cube
    from flowveil._problem.problem import Problem


def find_safe(problem: Problem) -> BoolArray:
    """Return by record whether it passes by itself."""
    count = len(problem.flows)
    tiles = np.ones(count, np.int64)
    safe = problem.requirement.passes(problem.measure(np.arange(count), count), tiles, tiles)
    ends = (dimension.family.number[0][dimension.first.leaf] for dimension in problem.dimensions[:2])
    barred = problem.bars(*ends)
    return safe if barred is None else safe & ~barred


def keep_safe(cube: Cube) -> Cube:
    """Return a cube in which every cell may only be split that holds a pair of tiles which passes.

    All cells of a cube pass. So these are the cells that cannot be split, if they may be published, and each way to
    split a cell that holds one has a part that does.
    """
    links = cube.links
    sizes = np.diff(links.first_split)
    cell = np.repeat(np.arange(len(cube)), sizes)
    whole = np.bincount(cell[links.splittable], minlength=len(cube)) == 0
    holder = np.repeat(cell, np.diff(links.first_part))  # by part: the cell that it is a part of
    holds = whole & np.isfinite(cube.loss)
    while True:
        more = holds.copy()
        more[holder[holds[links.part]]] = True
        if (more == holds).all():
            break
        holds = more
    return replace(cube, loss=np.where(holds & ~whole, np.inf, cube.loss))
