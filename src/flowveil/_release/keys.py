"""What the columns of a release mean: nodes of areas, numbers of matrices, nodes of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._folder import TIMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._places import Numbered, Places

NONE = -1


def nodes_of(places: Places, hierarchy: Numbered, areas: Sequence[str]) -> IntArray:
    """Return the node of each area, -1 for one that does not occur in the hierarchy."""
    names = places.ids(hierarchy, np.arange(len(hierarchy)))
    node = {name: number for number, name in enumerate(names)}
    return np.array([node.get(area, NONE) for area in areas], np.int64)


def times_of(flows: Flows, table: pa.Table) -> IntArray | None:
    """Return the node of time of each flow of a release, -1 for one without trips; None where time is no axis."""
    if flows.times is None:
        return None
    bounds = flows.times.values(np.arange(len(flows.times.hierarchy)))
    return rows_in(pa.table(dict(zip(TIMES, bounds, strict=True))), table)


def rows_in(keys: pa.Table, table: pa.Table) -> IntArray:
    """Return for each row of a table the row of `keys` with the same values, -1 if there is none.

    Keys without columns stand for a single row, that of all.
    """
    names = keys.column_names
    if not names:
        return np.zeros(table.num_rows, np.int64)
    number = {row: place for place, row in enumerate(zip(*(keys[name].to_pylist() for name in names), strict=True))}
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    return np.array([number.get(row, NONE) for row in rows], np.int64)
