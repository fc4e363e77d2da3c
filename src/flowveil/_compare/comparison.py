"""Running several methods on the same flows, each in a process of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from flowveil._compare.limits import limited_row
from flowveil._compare.table import Comparison, make_table
from flowveil._engine import FileSource
from flowveil._errors import InputError
from flowveil._flows import check_flows
from flowveil._matrices import LAPLACE
from flowveil._methods import find_method, methods
from flowveil._options import (
    check_flag,
    choose_k,
    parse_epsilon,
    parse_k_weight,
    parse_max_suppression,
    parse_memory,
    parse_min_tiles,
    parse_names,
    parse_number,
    parse_pairs,
)
from flowveil._problem import make_requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._compare.table import Row
    from flowveil._flows import Flows
    from flowveil._methods import Value
    from flowveil._options import Keywords

    # Called while a method runs: rows so far, method, seconds, bytes in use.
    Watch = Callable[[list[Row], str, float, int | None], None]

MOST_SECONDS = 600.0
ALL = "all"
_ANONYMITY = "k-anonymity"
_LEAST_SECONDS = 1e-9


class Asked(NamedTuple):
    """What is compared: all of it was checked, but for what depends on flows."""

    methods: list[str]
    k: int
    max_suppression: float | None
    k_weight: float | Literal["auto"] | None
    min_tiles: int
    elsewhere: bool
    remainders: bool
    epsilon: float | None
    options: dict[str, dict[str, Value]]
    time_limit: float
    memory_limit: int | None
    verify: bool

    def keywords(self, method: str) -> Keywords:
        """Return what one method is asked for."""
        keywords: Keywords = {"method": method, "options": self.options.get(method, {})}
        if method == LAPLACE:
            return keywords | {"epsilon": self.epsilon}
        entry = find_method(method)
        keywords |= {"k": self.k, "k_weight": self.k_weight, "min_tiles": self.min_tiles, "elsewhere": self.elsewhere}
        keywords |= {"remainders": self.remainders and entry.remainders}
        return keywords | {"max_suppression": self.max_suppression if entry.steers else None}


def compare(
    flows: Flows,
    methods: str | Sequence[str] = ALL,
    k: int | None = None,
    *,
    max_suppression: float | None = None,
    k_weight: float | Literal["auto"] | None = None,
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
    watch: called about 20 times a second while a method runs.
    flows: what `build_flows` returns. k_weight, min_tiles: as for `anonymize`.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> table = fv.compare(flows, ["mosaic", "suppression"], k=5)
    >>> table.select(["method", "status", "flows"]).to_pylist()
    [{'method': 'mosaic', 'status': 'done', 'flows': 99}, {'method': 'suppression', 'status': 'done', 'flows': 6}]
    """
    asked = parse_comparison(
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
    make_requirement(check_flows(flows), asked.k, asked.k_weight, asked.min_tiles)
    if asked.verify and not isinstance(flows.provenance.source, FileSource):
        raise InputError("trips in memory cannot be verified by another process", "read the trips from files")
    sent = _bare(flows)
    rows: list[Row] = []
    for name in asked.methods:
        job = {"keywords": asked.keywords(name), "verify": asked.verify}

        def look(seconds: float, memory: int | None, name: str = name) -> None:
            if watch is not None:
                watch(rows, name, seconds, memory)

        rows.append({"method": name, **limited_row(sent, job, asked.time_limit, asked.memory_limit, look)})
    return Comparison(make_table(rows))


def parse_comparison(
    methods: str | Sequence[str] = ALL,
    k: int | None = None,
    *,
    max_suppression: float | None = None,
    k_weight: float | Literal["auto"] | None = None,
    min_tiles: int = 1,
    elsewhere: bool = False,
    remainders: bool = False,
    epsilon: float | None = None,
    options: Mapping[str, Mapping[str, Value]] | Sequence[str] | None = None,
    time_limit: float = MOST_SECONDS,
    memory_limit: str | int | None = None,
    verify: bool = False,
) -> Asked:
    """Return what is compared, or raise on what no flows could fulfill."""
    noise = None if epsilon is None else parse_epsilon(epsilon)
    names = _names(methods, noise)
    return Asked(
        names,
        choose_k(k, None, persons=False),
        parse_max_suppression(max_suppression),
        parse_k_weight(k_weight),
        parse_min_tiles(min_tiles),
        check_flag(elsewhere, "elsewhere"),
        check_flag(remainders, "remainders"),
        noise,
        _options(options or {}, names),
        parse_time_limit(time_limit),
        None if memory_limit is None else parse_memory(memory_limit, "--memory-limit"),
        check_flag(verify, "verify"),
    )


def parse_time_limit(value: object) -> float:
    """Return a number of seconds."""
    return parse_number(value, "time_limit", "it is a number of seconds above 0", _LEAST_SECONDS, math.inf)


def _names(wanted: str | Sequence[str], epsilon: float | None) -> list[str]:
    noisy = [] if epsilon is None else [LAPLACE]
    if wanted == ALL:
        return [method.name for method in methods() if method.promise == _ANONYMITY or method.name in noisy]
    names = list(dict.fromkeys(name.strip() for name in parse_names(wanted, "methods")))
    for name in names:
        if name == LAPLACE and not noisy:
            raise InputError("laplace needs a budget", "give --epsilon E, e.g. --epsilon 1")
        if find_method(name).promise != _ANONYMITY and name not in noisy:
            raise InputError(f"{name} does not promise k-anonymity", "compare methods with the same kind of promise")
    return names


def _options(given: Mapping[str, Mapping[str, Value]] | Sequence[str], names: list[str]) -> dict[str, dict[str, Value]]:
    """Return the options of each method: of mappings by method, or of texts METHOD.NAME=VALUE."""
    options: Keywords = dict(given) if isinstance(given, Mapping) else {}
    for name, value in {} if isinstance(given, Mapping) else parse_pairs(given, "options").items():
        method, dot, option = name.partition(".")
        if not dot:
            raise InputError(
                f"--option {name} does not say for which method", "write it like --option nested.side=origin"
            )
        options.setdefault(method, {})[option] = value
    for name in options:
        if name not in names:
            raise InputError(f"there are options for {name}, which is not compared", "add it to the methods")
    return {name: find_method(name).parse_options(own) for name, own in options.items()}


def _bare(flows: Flows) -> Flows:
    """Return flows without a table of trips in memory, which no method needs."""
    if isinstance(flows.provenance.source, FileSource):
        return flows
    return replace(flows, provenance=replace(flows.provenance, source=None))
