"""Running several methods on the same flows, each in a process of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from flowveil._compare.limits import limited_row
from flowveil._compare.table import make_table
from flowveil._engine import FileSource
from flowveil._errors import InputError
from flowveil._matrices import LAPLACE
from flowveil._methods import find_method, methods
from flowveil._noise import check_epsilon
from flowveil._problem import make_requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from flowveil._compare.table import Row
    from flowveil._flows import Flows
    from flowveil._methods import Value

    # Called while a method runs: rows so far, method, seconds, bytes in use.
    Watch = Callable[[list[Row], str, float, int | None], None]

MOST_SECONDS = 600.0
ALL = "all"
_ANONYMITY = "k-anonymity"


def compare(
    flows: Flows,
    methods: str | Sequence[str] = ALL,
    k: int = 10,
    *,
    max_suppression: float | None = None,
    k_weight: float | Literal["auto"] | None = None,
    min_tiles: int = 1,
    elsewhere: bool = False,
    epsilon: float | None = None,
    options: Mapping[str, Mapping[str, Value]] | None = None,
    time_limit: float = MOST_SECONDS,
    memory_limit: int | None = None,
    verify: bool = False,
    watch: Watch | None = None,
) -> pa.Table:
    """Return one row a method: what it loses, what it costs, what it promises. Private, like all metrics.

    methods: names, or "all" for every method that promises k-anonymity. Each runs in a process of its own; one that
    fails, or passes `time_limit` (seconds) or `memory_limit` (bytes), is a row that says so.
    max_suppression: for the methods that can steer it. options: by method, its options.
    elsewhere: let methods of k-anonymity report what they leave out. epsilon: compare `laplace` too, which protects one
    trip with noise at this epsilon, on all tiles of the bbox or all zones.
    verify: also write each release to a temporary folder and verify it; the trips must be files.
    watch: called about 20 times a second while a method runs.
    """
    names = _names(methods, epsilon)
    make_requirement(flows, k, k_weight, min_tiles)  # what all methods would refuse is an error of the call
    _check(flows, names, options or {}, time_limit, memory_limit, verify=verify)
    sent = _bare(flows)
    rows: list[Row] = []
    for name in names:
        keywords: dict[str, object] = {"method": name, "options": dict((options or {}).get(name, {}))}
        if name == LAPLACE:
            keywords["epsilon"] = epsilon
        else:
            keywords |= {"k": k, "k_weight": k_weight, "min_tiles": min_tiles, "elsewhere": elsewhere}
            keywords["max_suppression"] = max_suppression if find_method(name).steers else None
        job = {"keywords": keywords, "verify": verify}

        def look(seconds: float, memory: int | None, name: str = name) -> None:
            if watch is not None:
                watch(rows, name, seconds, memory)

        rows.append({"method": name, **limited_row(sent, job, time_limit, memory_limit, look)})
    return make_table(rows)


def _names(wanted: str | Sequence[str], epsilon: float | None) -> list[str]:
    noisy = [] if epsilon is None else [LAPLACE]
    check_epsilon(1.0 if epsilon is None else epsilon)
    if wanted == ALL:
        return [method.name for method in methods() if method.promise == _ANONYMITY or method.name in noisy]
    names = wanted.split(",") if isinstance(wanted, str) else list(wanted)
    names = list(dict.fromkeys(name.strip() for name in names))
    for name in names:
        if name == LAPLACE and not noisy:
            raise InputError("laplace needs a budget", "give --epsilon E, e.g. --epsilon 1")
        if find_method(name).promise != _ANONYMITY and name not in noisy:
            raise InputError(f"{name} does not promise k-anonymity", "compare methods with the same kind of promise")
    return names


def _check(
    flows: Flows,
    names: list[str],
    options: Mapping[str, Mapping[str, Value]],
    time_limit: float,
    memory_limit: int | None,
    *,
    verify: bool,
) -> None:
    for name, given in options.items():
        if name not in names:
            raise InputError(f"there are options for {name}, which is not compared", "add it to the methods")
        find_method(name).parse_options(given)
    if not time_limit > 0 or (memory_limit is not None and memory_limit <= 0):
        raise InputError("a limit is not positive", "limits are seconds and bytes above 0")
    if verify and not isinstance(flows.provenance.source, FileSource):
        raise InputError("trips in memory cannot be verified by another process", "read the trips from files")


def _bare(flows: Flows) -> Flows:
    """Return flows without a table of trips in memory, which no method needs."""
    if isinstance(flows.provenance.source, FileSource):
        return flows
    return replace(flows, provenance=replace(flows.provenance, source=None))
