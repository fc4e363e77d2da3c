"""Which published flow each pair of tiles lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._places import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._places import Listed

    _Axis = tuple[Family | Listed, IntArray, IntArray]

_MOST_CANDIDATES = 4_000_000  # candidates looked up at once, to bound memory
_BEYOND = 2**62  # larger than any flow


def cover(
    flows: Flows,
    origin: IntArray,
    destination: IntArray,
    matrix: IntArray | int = 0,
    time: IntArray | None = None,
    own: IntArray | None = None,
    areas: tuple[Listed, Listed] | None = None,
) -> IntArray:
    """For every tile pair the flow (area `origin[f]` to `destination[f]`) that holds it, -1 for none.

    Flows must be disjoint. The flow must be of the same matrix (`matrix[f]`, or one number for all), with a hierarchy
    of time its node (`time[f]`) above.
    own: by tile pair its matrix, if not that of the flows. areas: what numbers of areas mean, if not nodes of trees.
    """
    group = np.full(len(flows), -1, np.int64)
    for rows, held in _holding(flows, _axes(flows, origin, destination, time, areas), matrix, own):
        if int((held >= 0).sum(axis=1).max(initial=0)) > 1:
            raise _same_trips()
        group[rows] = held.max(axis=1, initial=-1)
    return group


def cover_layers(
    flows: Flows,
    origin: IntArray,
    destination: IntArray,
    matrix: IntArray,
    time: IntArray | None,
    areas: tuple[Listed, Listed],
) -> tuple[IntArray, IntArray]:
    """For every tile pair the smallest flow that holds it, and for every flow the smallest other one that holds it.

    All as in `cover`, but flows may lie inside each other: those that hold the same tile pair must be of different
    size. What holds a flow is found by the tile pairs that it counts.
    """
    axes = _axes(flows, origin, destination, time, areas)
    size = np.append(np.prod([family.tiles[area] for family, _, area in axes], axis=0), _BEYOND)  # the last is for none
    group, above = np.full(len(flows), -1, np.int64), np.full(len(origin), -1, np.int64)
    for rows, some in _holding(flows, axes, matrix, None):
        held = np.hstack([some, np.full((len(some), 2), -1, np.int64)])
        smallest, second = np.take_along_axis(held, np.argsort(size[held], axis=1, kind="stable")[:, :2], axis=1).T
        if ((smallest >= 0) & (size[smallest] == size[second])).any():
            raise _same_trips()
        group[rows] = smallest
        above[smallest[smallest >= 0]] = second[smallest >= 0]
    return group, above


def _same_trips() -> InputError:
    return InputError("two flows of the release hold the same trips", "flowveil verify says which")


def _axes(
    flows: Flows,
    origin: IntArray,
    destination: IntArray,
    time: IntArray | None,
    areas: tuple[Listed, Listed] | None,
) -> list[_Axis]:
    """Return what areas are numbers of, the tile of each tile pair and the area of each flow, axis by axis."""
    first, second = areas or (Family.of(flows.origins), Family.of(flows.destinations))
    axes: list[_Axis] = [(first, flows.origin, origin), (second, flows.destination, destination)]
    if flows.times is not None and flows.time is not None and time is not None:
        axes.append((Family.of(flows.times.hierarchy), flows.time, time))
    return axes


def _holding(
    flows: Flows, axes: list[_Axis], matrix: IntArray | int, own: IntArray | None
) -> Iterator[tuple[slice, IntArray]]:
    """Yield some tile pairs at a time, and the flows that hold each in a row, with -1 between them.

    Each tile has few published areas above it: all combinations are looked up.
    """
    key = np.full(len(axes[0][2]), matrix)
    own = flows.matrix if own is None else own
    for family, _, area in axes:
        key = key * len(family) + area
    if not len(key):
        return
    order = np.argsort(key)
    key = key[order]
    above = [_areas_above(*axis) for axis in axes]
    size = max(1, _MOST_CANDIDATES // int(np.prod([columns.shape[1] for columns in above])))
    for start in range(0, len(flows), size):
        rows = slice(start, start + size)
        wanted, known = own[rows, None], np.ones((len(own[rows]), 1), bool)
        for (family, _, _), columns in zip(axes, above, strict=True):
            nodes = columns[rows]
            wanted = (wanted[:, :, None] * len(family) + nodes[:, None, :]).reshape(len(nodes), -1)
            known = (known[:, :, None] & (nodes >= 0)[:, None, :]).reshape(len(nodes), -1)
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        yield rows, np.where(known & (key[place] == wanted), order[place], -1)


def _areas_above(family: Family | Listed, leaf: IntArray, areas: IntArray) -> IntArray:
    """Return for every tile pair the areas among `areas` that hold its leaf, padded with -1."""
    published = np.unique(areas)
    place, held = family.inside(published)
    order = np.argsort(held, kind="stable")
    held, area = held[order], published[place[order]]
    distinct, position = np.unique(leaf, return_inverse=True)
    start, end = (np.searchsorted(held, distinct, side) for side in ("left", "right"))
    column = np.arange(max(1, int((end - start).max(initial=0))))
    entry = start[:, None] + column
    table = np.where(entry < end[:, None], np.append(area, -1)[np.minimum(entry, len(area))], -1)
    return table[position]
