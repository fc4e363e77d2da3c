"""The smallest study: several methods on the same flows, once each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flowveil._engine import FileSource
from flowveil._errors import InputError
from flowveil._flows import check_flows
from flowveil._options import (
    check_flag,
    choose_k,
    parse_epsilon,
    parse_k_weight,
    parse_max_suppression,
    parse_memory,
    parse_min_tiles,
)
from flowveil._problem import make_requirement
from flowveil._study.asking import ALL, Demands, parse_demands, parse_time_limit
from flowveil._study.limits import Limits
from flowveil._study.measured import TRIPS
from flowveil._study.running import Progress, Run
from flowveil._study.table import Comparison, make_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flowveil._flows import Flows
    from flowveil._methods import Value
    from flowveil._study.cells import Row

    # Called while a method runs: rows so far, method, seconds, bytes in use.
    Watch = Callable[[list[Row], str, float, int | None], None]

MOST_SECONDS = 600.0


def compare(
    flows: Flows,
    methods: str | Sequence[str] = ALL,
    k: int | None = None,
    *,
    max_suppression: float | None = None,
    k_weight: float | str | None = None,
    min_tiles: int = 1,
    elsewhere: bool = False,
    remainders: bool = False,
    epsilon: float | None = None,
    options: Mapping[str, Mapping[str, Value]] | None = None,
    time_limit: float = MOST_SECONDS,
    memory_limit: str | int | None = None,
    verify: bool = False,
    watch: Watch | None = None,
) -> Comparison:
    """Return one row a method: what it loses, what it costs, what it promises. Private, like all metrics.

    It can be used as a pyarrow table and draws itself in a notebook.

    methods: names, or "all" for every method that promises k-anonymity. Each runs in a process of its own; one that
    fails, or passes `time_limit` (seconds) or `memory_limit` (e.g. "2GB", or bytes), is a row that says so.
    max_suppression: for the methods that can steer it. options: by method, its options.
    elsewhere: let methods of k-anonymity report what they leave out. remainders: let those that can count what finer
    flows leave. epsilon: compare `laplace` too, which protects one trip with noise at this epsilon, on all tiles of the
    bbox or all zones.
    verify: also write each release to a temporary folder and verify it; the trips must be files.
    watch: called about 10 times a second while a method runs.
    flows: what `build_flows` returns. k_weight, min_tiles: as for `anonymize`.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> table = fv.compare(flows, ["mosaic", "suppression"], k=5)
    >>> table.select(["method", "status", "flows"]).to_pylist()
    [{'method': 'mosaic', 'status': 'done', 'flows': 99}, {'method': 'suppression', 'status': 'done', 'flows': 6}]
    """
    asked, limits = parse_comparison(
        methods,
        k,
        max_suppression=max_suppression,
        k_weight=k_weight,
        min_tiles=min_tiles,
        elsewhere=elsewhere,
        remainders=remainders,
        epsilon=epsilon,
        options=options,
        time_limit=time_limit,
        memory_limit=memory_limit,
        verify=verify,
    )
    # What all methods would refuse is an error of the call.
    make_requirement(check_flows(flows), asked.k[0], asked.common["k_weight"], asked.common["min_tiles"])
    if asked.verify and not isinstance(flows.provenance.source, FileSource):
        raise InputError("trips in memory cannot be verified by another process", "read the trips from files")
    sent = bare(flows)
    rows: list[Row] = []

    def look(progress: Progress) -> None:
        if watch is not None:
            for name, running in progress.running.copy().items():
                watch(rows, name, *running)

    cells = [cell._replace(name=str(cell.calls[0].keys["method"])) for cell in asked.cells("", [(None, {})])]
    run = Run(
        lambda _: sent, lambda _, new: rows.extend(row for row in new if row.get("measured", TRIPS) == TRIPS), limits
    )
    run.watch = look
    run.run(cells, Progress(len(cells)))
    return Comparison(make_table(rows))


def parse_comparison(
    methods: str | Sequence[str] = ALL,
    k: int | None = None,
    *,
    max_suppression: float | None = None,
    k_weight: float | str | None = None,
    min_tiles: int = 1,
    elsewhere: bool = False,
    remainders: bool = False,
    epsilon: float | None = None,
    options: Mapping[str, Mapping[str, Value]] | Sequence[str] | None = None,
    time_limit: float = MOST_SECONDS,
    memory_limit: str | int | None = None,
    verify: bool = False,
) -> tuple[Demands, Limits]:
    """Return what is compared and under which limits, or raise on what no flows could fulfill."""
    asked = parse_demands(
        methods,
        choose_k(k, None, persons=False),
        parse_max_suppression(max_suppression),
        epsilon=None if epsilon is None else [parse_epsilon(epsilon)],
        options=options,
        common={
            "k_weight": parse_k_weight(k_weight),
            "min_tiles": parse_min_tiles(min_tiles),
            "elsewhere": check_flag(elsewhere, "elsewhere"),
        },
        remainders=check_flag(remainders, "remainders"),
        verify=check_flag(verify, "verify"),
    )
    memory = None if memory_limit is None else parse_memory(memory_limit, "--memory-limit")
    return asked, Limits(parse_time_limit(time_limit), memory)


def bare(flows: Flows) -> Flows:
    """Return flows without a table of trips in memory, which no method needs."""
    if isinstance(flows.provenance.source, FileSource):
        return flows
    return replace(flows, provenance=replace(flows.provenance, source=None))
