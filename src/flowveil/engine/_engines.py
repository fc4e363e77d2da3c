"""Which engine counts trips: this machine, or a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError, UnknownNameError
from flowveil.engine import _local, _spark

if TYPE_CHECKING:
    from flowveil.engine._aggregate import Aggregate
    from flowveil.engine._keys import Index
    from flowveil.engine._local import Watch
    from flowveil.engine._rows import Request

DUCKDB, SPARK = "duckdb", "spark"


def check_engine(engine: str, master: str | None) -> None:
    """Raise unless there is such an engine, and a master only where it has one."""
    if engine not in (DUCKDB, SPARK):
        raise UnknownNameError("engine", engine, (DUCKDB, SPARK))
    if master is not None and engine != SPARK:
        raise InputError("a master was given, but this engine has none", "add --engine spark")


def aggregate(
    request: Request,
    index: Index,
    memory: str | None = None,
    step: Index | None = None,
    *,
    engine: str = DUCKDB,
    master: str | None = None,
    watch: Watch | None = None,
) -> Aggregate:
    """Count trips, persons and weights by pair of tiles, and by step of time and group where these are asked for.

    `index` maps (lon, lat) or (zone id) to tile keys, `step` maps (time, aware) to steps. All engines return the same.
    """
    check_engine(engine, master)
    if engine == SPARK:
        return _spark.aggregate(request, index, master, memory, step)
    return _local.aggregate(request, index, memory, step, watch)
