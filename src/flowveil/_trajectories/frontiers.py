"""Samples left out against precision: what trajectories cost at different prices of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._charts import DrawnTable, path_frontier_svg, path_frontier_text
from flowveil._options import parse_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._trajectories.choice import Chooser, Outcome

DEFAULT_POINTS = 8
_MOST_POINTS = 200
_CHEAP, _DEAR = 1 / 32, 4.0  # prices: boxes of some hundred meters and a quarter of an hour, up to many times the caps
_KINDS: dict[str, pa.DataType] = {
    "price": pa.float64(),
    "suppressed": pa.float64(),  # share of input rows
    "extent": pa.float64(),  # meters
    "duration": pa.float64(),  # minutes
    "users": pa.int64(),
    "groups": pa.int64(),
    "samples": pa.int64(),
}
_SCHEMA = pa.schema(_KINDS)


@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryFrontier(DrawnTable):
    """A table that draws itself: all that a pyarrow table can do goes to `table`, and Arrow reads it as one.

    Private: it is computed from true samples.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> fv.trajectories.frontier(data, k=2, points=3).column_names
    ['price', 'suppressed', 'extent', 'duration', 'users', 'groups', 'samples']
    """

    table: pa.Table
    method: str

    def __repr__(self) -> str:
        return path_frontier_text(self.table)

    def _repr_html_(self) -> str:
        """Show the chart in a notebook."""
        return path_frontier_svg(self.table, self.method)


def parse_path_points(value: object) -> int:
    """Return how many points of a frontier to show."""
    return parse_whole(value, "points", "it is a number of points, 2 or more; 8 is usual", 2, _MOST_POINTS)


def follow(
    method: str, chooser: Chooser, form: Callable[[int], Outcome], users: int, points: int
) -> TrajectoryFrontier:
    """Return what groups of at most so many users publish at prices from low to high, where they publish anything."""
    rows: list[dict[str, float]] = []
    for price in np.geomspace(_CHEAP, _DEAR, points).tolist():
        outcome = form(min(round(price * chooser.unit), chooser.most(users)))
        groups = outcome.grouping.groups
        if groups:
            rows.append(
                {
                    "price": price,
                    "suppressed": 1 - outcome.kept / chooser.rows,
                    "extent": outcome.extent,
                    "duration": outcome.duration,
                    "users": sum(len(group.members) for group in groups),
                    "groups": len(groups),
                    "samples": sum(group.samples.shape[1] for group in groups),
                }
            )
    return TrajectoryFrontier(pa.Table.from_pylist(rows, schema=_SCHEMA), method)
