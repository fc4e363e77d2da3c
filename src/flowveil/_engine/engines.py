"""Which engine counts trips and solves matrices: this machine, or a cluster."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from flowveil._engine import local, spark, spark_crowds, spark_spread
from flowveil._errors import InputError
from flowveil._options import parse_choice, parse_text
from flowveil._processes import over_cores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowveil._engine.aggregate import Aggregate
    from flowveil._engine.keys import Index
    from flowveil._engine.local import Watch
    from flowveil._engine.rows import Request
    from flowveil._engine.spark_crowds import Cluster
    from flowveil._processes import Spread

DUCKDB, SPARK = "duckdb", "spark"


def check_engine(engine: str, master: str | None) -> None:
    """Raise unless there is such an engine, and a master only where it has one."""
    parse_choice(engine, "engine", (DUCKDB, SPARK))
    if master is not None:
        parse_text(master, "master", "spark://HOST:PORT")
        if engine != SPARK:
            raise InputError("a master was given, but this engine has none", "add --engine spark")


@contextmanager
def counting(
    request: Request,
    index: Index,
    memory: int | None = None,
    step: Index | None = None,
    *,
    engine: str = DUCKDB,
    master: str | None = None,
    watch: Watch | None = None,
    persons_stay: bool = False,
) -> Iterator[tuple[Aggregate, Cluster | None]]:
    """Count trips, persons and weights by pair of tiles, and by step of time and group where these are asked for.

    `index` maps (lon, lat) or (zone id) to tile keys, `step` maps (time, aware) to steps. All engines return the same.
    With `persons_stay` persons are not counted here; the cluster that they stay on may be asked about them.
    """
    check_engine(engine, master)
    if persons_stay and request.unit is not None:
        if engine != SPARK:
            raise InputError("k was given, but this engine has no cluster that persons could stay on", "leave out k")
        with spark_crowds.persons_stay(request, index, master, memory, step) as (counted, cluster):
            yield counted, cluster
    elif engine == SPARK:
        yield spark.aggregate(request, index, master, memory, step), None
    else:
        yield local.aggregate(request, index, memory, step, watch), None


def choose_spread(engine: str, master: str | None) -> Spread:
    """Return the engine's way to do the same work on many parts."""
    check_engine(engine, master)
    return partial(spark_spread.over_executors, master=master) if engine == SPARK else over_cores
