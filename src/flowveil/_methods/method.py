"""What a method is: what it promises, the options it takes, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from flowveil._errors import InputError, UnknownNameError
from flowveil._methods.each import solve_each
from flowveil._methods.targets import find_common_target
from flowveil._options import (
    AUTO,
    DEFAULT_LOSS,
    LARGEST_NUMBER,
    has_several_ways,
    parse_choice,
    parse_k,
    parse_k_weight,
    parse_pairs,
    shown,
)
from flowveil._problem import LOSSES_OF_NODES
from flowveil._processes import over_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from flowveil._methods.frontier import FrontierPoint
    from flowveil._methods.targets import Outcome
    from flowveil._problem import Problem, Solution
    from flowveil._processes import Spread

Value = bool | int | float | str


@dataclass(frozen=True)
class Option:
    """An option of one method; values given as text are read as the type of the default."""

    name: str
    default: Value
    meaning: str

    def parse(self, value: object) -> Value:
        """Return `value` in the type of the default, or raise."""
        kind = type(self.default)
        try:
            if kind is bool:
                return value if isinstance(value, bool) else {"true": True, "false": False}[str(value).lower()]
            parsed = kind(str(value))
        except (KeyError, TypeError, ValueError):
            parsed = None
        if parsed is None or (not isinstance(parsed, str) and not abs(parsed) <= LARGEST_NUMBER):  # nor is NaN one
            words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
            raise InputError(f"the option {self.name} is {shown(value)}", f"{self.name} is {words[kind]}")
        return parsed


class ClusterOptions(TypedDict, total=False):
    """What `build_flows` is given so that persons stay on a cluster."""

    k: int
    k_weight: float | str | None


@dataclass(frozen=True)
class Method:
    """A way to turn flows into a release.

    >>> nested = next(method for method in fv.methods() if method.name == "nested")
    >>> nested.promise, [option.name for option in nested.options]
    ('k-anonymity', ['side', 'budget'])
    """

    name: str
    family: str
    promise: str
    summary: str
    steers: bool  # can it keep suppression within a budget?
    solve: Callable[[Problem], Solution]  # with the options of the method as keywords: `run` passes them
    options: tuple[Option, ...] = ()
    frontier: Callable[[Problem, int], list[FrontierPoint]] | None = None  # precision against suppression, in points
    losses: bool = False  # can it minimize any loss, and reach a given precision?
    joint: bool = False  # does it solve many matrices at one price of a suppressed trip?
    times: bool = False  # can time be one of its axes?
    several: bool = False  # can it split an area in several ways?
    remainders: bool = False  # can a flow count what finer flows inside it leave?
    outcome: Callable[[Problem, float], Outcome] | None = None  # what it reaches with a target volume, if it takes one
    crowds: bool = False  # is it enough to know all pairs of areas with enough people, not who these are?
    sensitive: bool = False  # can it keep flows out whose areas are too small beside a sensitive place?
    same_areas: bool = False  # can all matrices have their areas in common?
    shares: bool = False  # can it keep flows out in which one person makes too many of the trips?

    def parse_options(self, given: Mapping[str, Value] | Sequence[str] | None) -> dict[str, Value]:
        """Return the options given, checked.

        >>> nested = next(method for method in fv.methods() if method.name == "nested")
        >>> nested.parse_options({"side": "origin"})
        {'side': 'origin'}
        """
        known = {option.name: option for option in self.options}
        pairs = parse_pairs(given or {}, "options")
        return {
            parse_choice(name, f"option of {self.name}", known): known[name].parse(value)
            for name, value in pairs.items()
        }

    def cluster_options(
        self,
        k: int,
        k_weight: float | str | None = None,
        *,
        engine: str = "spark",
        loss: str = DEFAULT_LOSS,
        time_hierarchy: str | None = None,
        elsewhere: bool = False,
        totals: bool = False,
        beside: str | Path | None = None,
        remainders: bool = False,
        hierarchy: str | Sequence[str] | None = None,
        max_share: float | None = None,
    ) -> ClusterOptions:
        """Return k and k_weight for `build_flows` on a cluster so that persons stay there, given what will be released.

        Nothing is returned, and ids of persons leave the cluster, where a release must know more than which pairs of
        areas have enough people; nor is anything for an engine that has no cluster.
        A cluster counts the pairs of one tree: with a lattice or many trees, persons come here.
        loss, time_hierarchy, elsewhere, totals, beside, remainders, hierarchy, max_share: as `build_flows` and
        `anonymize` will be given them.

        >>> mosaic = next(method for method in fv.methods() if method.name == "mosaic")
        >>> mosaic.cluster_options(10), mosaic.cluster_options(10, elsewhere=True)
        ({'k': 10, 'k_weight': None}, {})
        """
        several = self.several and has_several_ways(hierarchy)
        whole_pairs = not (time_hierarchy or elsewhere or totals or beside or remainders or several or max_share)
        if engine != "spark" or not self.crowds or loss not in LOSSES_OF_NODES or not whole_pairs:
            return {}
        least = parse_k_weight(k_weight)
        # With auto, k times the mean, few pairs of k persons fail: there is no need to know the mean before counting.
        return {"k": parse_k(k), "k_weight": None if isinstance(least, str) else least}

    def run(self, problem: Problem, options: Mapping[str, Value], spread: Spread = over_cores) -> Solution:
        """Solve a problem; several matrices one by one where the method knows no better, or the budget is for each.

        These are solved where `spread` sends them.
        options: what `parse_options` returns.
        """
        own = own_options(options)
        solve: Callable[..., Solution] = self.solve
        budget = options.get(BUDGET.name, BUDGET.default)
        if budget not in BUDGETS:
            raise UnknownNameError("budget", str(budget), BUDGETS)
        # What is not divided has no part to withhold as a whole: a method that cannot solve it says why.
        if not problem.flows.divided or (self.joint and budget == BUDGET.default):
            return solve(problem, **own)
        outcome: Callable[..., Outcome] | None = self.outcome
        if outcome is None or not options.get(ONE_TARGET.name, ONE_TARGET.default):
            return solve_each(partial(solve, **own), problem, spread)
        v_target = own.pop(V_TARGET.name, V_TARGET.default)
        target = find_common_target(problem, v_target, partial(outcome, **own), spread)
        solution = solve_each(partial(solve, v_target=target, **own), problem, spread)
        return replace(solution, notes=(*solution.notes, f"v_target {target:g} for all matrices"))


def own_options(options: Mapping[str, Value]) -> dict[str, Value]:
    """Return the options that functions of a method take: all but those about what several matrices have in common."""
    return {name: value for name, value in options.items() if name not in (BUDGET.name, ONE_TARGET.name)}


BUDGETS = ("whole", "each")
BUDGET = Option("budget", "whole", "whole: one budget for all matrices; each: every matrix by itself")
V_TARGET = Option(
    "v_target", AUTO, "trips an origin area should send; auto: with the finest result; balanced: as fine at both ends"
)
ONE_TARGET = Option("one_target", default=False, meaning="one v_target for all matrices, as in the papers")
