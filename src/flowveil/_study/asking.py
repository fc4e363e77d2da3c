"""What a study or a comparison asks of methods: parsed once, and laid out as cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from flowveil._errors import InputError
from flowveil._matrices import LAPLACE
from flowveil._methods import find_method, methods
from flowveil._options import (
    DEFAULT_K,
    parse_choice,
    parse_epsilons,
    parse_k,
    parse_max_suppression,
    parse_names,
    parse_number,
    parse_pairs,
)
from flowveil._study.cells import Call, Cell
from flowveil._study.measured import BOTH, PARTICIPANTS, POPULATION, measure_flows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._methods import Value
    from flowveil._options import Keywords
    from flowveil._study.cells import Row

ALL = "all"
_ANONYMITY = "k-anonymity"
_LEAST_SECONDS = 1e-9
_PROTECTED = (PARTICIPANTS, POPULATION, BOTH)


class Demands(NamedTuple):
    """What is asked of methods, in all combinations; all of it was checked, but for what depends on flows."""

    methods: list[str]
    k: list[int]
    max_suppression: list[float | None]
    protect: list[str]
    epsilon: list[float]
    options: dict[str, dict[str, Value]]
    common: Keywords  # of `anonymize`, for every method of k-anonymity
    remainders: bool
    verify: bool

    def cells(self, data: str, matrices: Sequence[tuple[int | None, Row]]) -> list[Cell]:
        """Return one cell a combination, each with one call a matrix; matrices: number, and what tells it apart."""
        cells = []
        for method in self.methods:
            for keys, keywords in self._combinations(method):
                calls = [
                    Call(
                        {"data": data} | about | keys,
                        {
                            "matrix": number,
                            "keywords": keywords,
                            "protected": keys["protected"],
                            "verify": self.verify,
                        },
                    )
                    for number, about in matrices
                ]
                told = [data, *(f"{value:g}" if isinstance(value, float) else str(value) for value in keys.values())]
                cells.append(Cell("_".join(told), data, measure_flows, calls))
        return cells

    def _combinations(self, method: str) -> list[tuple[Row, Keywords]]:
        """Return what tells each run of a method apart, and its keywords. What a method ignores is asked once."""
        own: Keywords = {"method": method, "options": self.options.get(method, {})}
        empty: Row = {"method": method, "k": None, "max_suppression": None, "epsilon": None, "protected": None}
        if method == LAPLACE:
            return [(empty | {"epsilon": epsilon}, own | {"epsilon": epsilon}) for epsilon in self.epsilon]
        entry = find_method(method)
        own |= self.common | {"remainders": self.remainders and entry.remainders}
        budgets = self.max_suppression if entry.steers else [None]
        return [
            (empty | {"k": k, "max_suppression": budget, "protected": who}, own | {"k": k, "max_suppression": budget})
            for k, budget, who in itertools.product(self.k, budgets, self.protect)
        ]


def parse_demands(
    wanted: str | Sequence[str],
    k: object = None,
    max_suppression: object = None,
    protect: object = PARTICIPANTS,
    epsilon: object = None,
    options: Mapping[str, Mapping[str, Value]] | Sequence[str] | None = None,
    *,
    common: Keywords,
    remainders: bool = False,
    verify: bool = False,
) -> Demands:
    """Return what is asked, or raise on what no flows could fulfill."""
    noise = [] if epsilon is None else parse_epsilons(epsilon)
    names = _names(wanted, noisy=bool(noise))
    return Demands(
        names,
        [parse_k(value) for value in _listed(DEFAULT_K if k is None else k)],
        [parse_max_suppression(value) for value in _listed(max_suppression)],
        [parse_choice(value, "kind of protection", _PROTECTED) for value in parse_names(protect, "protect")],
        noise,
        _options(options or {}, names),
        common,
        remainders,
        verify,
    )


def parse_time_limit(value: object) -> float:
    """Return a number of seconds."""
    return parse_number(value, "time_limit", "it is a number of seconds above 0", _LEAST_SECONDS, math.inf)


def _listed(value: object) -> list[object]:
    """Return several values: of a list, or of a text with commas between them; each once."""
    parts = value.split(",") if isinstance(value, str) else value
    several = isinstance(parts, Iterable) and not isinstance(parts, bytes | Mapping | str)
    return list(dict.fromkeys(parts)) if several else [parts]  # type: ignore[call-overload]


def _names(wanted: str | Sequence[str], *, noisy: bool) -> list[str]:
    if wanted == ALL:
        return [
            method.name for method in methods() if method.promise == _ANONYMITY or (noisy and method.name == LAPLACE)
        ]
    names = list(dict.fromkeys(name.strip() for name in parse_names(wanted, "methods")))
    for name in names:
        if name == LAPLACE and not noisy:
            raise InputError("laplace needs a budget", "give --epsilon E, e.g. --epsilon 1")
        if find_method(name).promise != _ANONYMITY and name != LAPLACE:
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
