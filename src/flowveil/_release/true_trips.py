"""The true trips of flows whose published numbers are rounded: metrics are about what was left out, not about that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._arrays import texts
from flowveil._flows import add_by_group
from flowveil._folder import ELSEWHERE, TOTAL
from flowveil._measure import cover, cover_layers
from flowveil._release.keys import rows_in, times_of

if TYPE_CHECKING:
    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._measure import Published


def with_true_trips(flows: Flows, table: pa.Table, published: Published, by: list[str]) -> Published:
    """Return what is published of flows on areas of a tree with their true trips."""
    group = published.group
    if group is None:
        return published
    trips = add_by_group(group, flows.trips, len(published.trips))
    published = replace(published, trips=trips)
    if published.totals is not None:
        published = replace(published, totals=_totals(flows, table, by))
    if published.elsewhere is not None:
        rest = replace(published.elsewhere, trips=_rest(flows, table, group, published.elsewhere.first))
        published = replace(published, elsewhere=rest)
    return published


def _totals(flows: Flows, table: pa.Table, by: list[str]) -> IntArray:
    totals = table.filter(np.array([value == TOTAL for value in table[by[0]].to_pylist()], bool))
    steps = flows.matrices.drop_columns(by)
    distinct = steps.group_by(steps.column_names).aggregate([]) if steps.num_columns else steps
    (first, origin), (second, destination) = (
        flows.places.listed(tree, texts(totals[side]))
        for tree, side in ((flows.origins, "origin"), (flows.destinations, "destination"))
    )
    own = rows_in(distinct, flows.matrices)[flows.matrix]
    step = rows_in(distinct, totals)
    group = cover(flows, origin, destination, step, times_of(flows, totals), own, (first, second))
    return add_by_group(group, flows.trips, totals.num_rows)


def _rest(flows: Flows, table: pa.Table, counted: IntArray, first: int) -> IntArray:
    """Return the trips of flows to or from elsewhere: of those in no other flow, the ones of the smallest such area."""
    sides = ("origin", "destination")
    rest = table.filter(np.array([name == ELSEWHERE for name in table[sides[1 - first]].to_pylist()], bool))
    trees = flows.origins, flows.destinations
    listed, area = flows.places.listed(trees[first], texts(rest[sides[first]]))
    other, top = flows.places.listed(trees[1 - first], [flows.places.top] * rest.num_rows)
    (origins, origin), (destinations, destination) = ((listed, area), (other, top))[:: 1 - 2 * first]
    group, _ = cover_layers(flows, origin, destination, rows_in(flows.matrices, rest), None, (origins, destinations))
    return add_by_group(np.where(counted >= 0, -1, group), flows.trips, rest.num_rows)
