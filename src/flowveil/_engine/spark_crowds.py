"""Counting crowds on a Spark cluster: persons stay there, and what leaves it are sums and counts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine.keys import WEIGHT_UNIT
from flowveil._engine.node_pairs import runs_of_persons, walk_down
from flowveil._engine.spark import add_up, fetch, grouped_visits, read_grouped
from flowveil._engine.spark_worker import TALLY
from flowveil._engine.visits import several_weights, visit_columns
from flowveil._errors import PromiseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from flowveil._arrays import IntArray
    from flowveil._engine.aggregate import Aggregate
    from flowveil._engine.keys import Index
    from flowveil._engine.node_pairs import Emit, Nodes, PairCounts
    from flowveil._engine.rows import Request


@dataclass(frozen=True, eq=False)
class Cluster:
    """Visits that stay on a cluster."""

    mean_weight: Fraction | None  # people that a person stands for on average; None without weights
    visits: DataFrame  # all of a person are in one part, one after the other

    def count_pairs(self, nodes: Nodes, least_persons: int, least_weight: int) -> PairCounts:
        """Return all pairs of nodes that have enough people; no others leave the cluster."""
        sums = ["trips", "persons"] + ([] if self.mean_weight is None else ["weight"])
        enough = f"persons >= {least_persons}" + ("" if self.mean_weight is None else f" AND weight >= {least_weight}")

        def count(emit: Emit) -> dict[str, IntArray]:
            emitted = self.visits.mapInArrow(emit, ", ".join(f"{name} bigint" for name in ("pair", *sums)))
            return _columns(add_up(emitted, ["pair"], {name: f"sum({name})" for name in sums}).where(enough))

        return walk_down(nodes, count)


@contextmanager
def persons_stay(
    request: Request, index: Index, master: str | None, memory: int | None = None, step: Index | None = None
) -> Iterator[tuple[Aggregate, Cluster]]:
    """Count trips by pair of tiles, as on one machine but without persons; visits stay while this is open."""
    with grouped_visits(request, index, master, memory, step) as (con, grouped):
        visits = grouped.repartition("person").sortWithinPartitions("person").persist()
        try:
            alone = replace(request, unit=None)
            keys, sums = visit_columns(alone)
            entries = add_up(visits, [TALLY, *keys], {name: f"sum({name})" for name in sums})
            counted = read_grouped(con, entries, alone, memory)
            usable = visits.where(f"{TALLY} IS NULL")
            _check_together(usable)
            yield counted, Cluster(_mean_weight(usable, request), usable)
        finally:
            visits.unpersist()


def _check_together(visits: DataFrame) -> None:
    """Raise unless every person is in one part of the visits, without a gap: counts of persons would be too high."""
    runs = add_up(visits.mapInArrow(runs_of_persons, "runs bigint"), [], {"runs": "sum(runs)"})
    if _columns(runs)["runs"].sum() != visits.select("person").distinct().count():
        raise PromiseError("Spark keeps the visits of a person apart, so persons cannot be counted", "report this bug")


def _columns(frame: DataFrame) -> dict[str, IntArray]:
    """Fetch a frame of whole numbers."""
    batches = list(fetch(frame))
    nothing = np.zeros(0, np.int64)
    return {name: np.concatenate([nothing, *(batch[name].to_numpy() for batch in batches)]) for name in frame.columns}


def _mean_weight(visits: DataFrame, request: Request) -> Fraction | None:
    """Return the mean weight of persons, or raise if one has several weights."""
    if request.weight is None:
        return None
    persons = add_up(visits, ["person"], {"least": "min(least)", "most": "max(most)"})
    sums = {"persons": "count(*)", "weight": "sum(least)", "several": "count_if(least <> most)"}
    whole = add_up(persons, [], sums).collect()[0]
    if whole["several"]:
        raise several_weights(request)
    return Fraction(whole["weight"] or 0, max(whole["persons"], 1) * WEIGHT_UNIT)
