"""Metrics of each matrix by itself: one row a step of time and group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._measure.columns import METRIC_COLUMNS, metric_row
from flowveil._measure.measures import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowveil._flows import Flows
    from flowveil._measure.measures import Published


def metrics_of_each(
    flows: Flows, published: Published, k: int, tiles: str = "tree", *, k_weight: float | str | None = None
) -> Iterator[dict[str, object]]:
    """Yield for each matrix its step of time and groups, and its metrics as METRIC_COLUMNS name them.

    A matrix of which nothing is published has all of its trips left out, and nothing else to measure.
    """
    keys = flows.matrices.to_pylist() if flows.divided else [{}]
    for number, key in enumerate(keys):
        part = flows.part(number)
        own = _part(flows, published, number)
        counted = {"input_trips": part.total}
        if len(own.trips):
            yield {**key, **counted, **metric_row(metrics(part, own, k, tiles, k_weight=k_weight))}
        else:
            empty: dict[str, object] = dict.fromkeys(METRIC_COLUMNS)
            yield {**key, **counted, **empty, "suppressed": 1.0, "flows": 0, "trips": 0}


def _part(flows: Flows, published: Published, matrix: int) -> Published:
    """Return what is published of one matrix; totals over groups are of none."""
    if flows.matrix_count == 1:
        return replace(published, totals=None)
    kept = published.matrix == matrix
    place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)  # the last is for none
    start, stop = flows.edges[[matrix, matrix + 1]].tolist()
    rest = published.elsewhere
    if rest is not None:
        own = rest.matrix == matrix
        rest = replace(rest, area=rest.area[own], trips=rest.trips[own], matrix=np.zeros(int(own.sum()), np.int64))
    return replace(
        published,
        origin=published.origin[kept],
        destination=published.destination[kept],
        trips=published.trips[kept],
        matrix=np.zeros(int(kept.sum()), np.int64),
        group=None if published.group is None else place[published.group[start:stop]],
        time=None if published.time is None else published.time[kept],
        above=None if published.above is None else place[published.above[kept]],
        elsewhere=rest,
        totals=None,
    )
