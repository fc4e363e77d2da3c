"""Every method, with what it promises and the options it takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from flowveil._errors import InputError, UnknownNameError
from flowveil._methods import (
    atg,
    crosscut,
    glove,
    knapsack,
    mondrian,
    mosaic,
    nested,
    odkanon,
    oigh,
    suppression,
    uniform_tiles,
)
from flowveil._methods.each import solve_each
from flowveil._options import DEFAULT_LOSS, LARGEST_NUMBER, parse_choice, parse_k, parse_k_weight, parse_pairs, shown
from flowveil._processes import over_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from flowveil._methods.frontier import FrontierPoint
    from flowveil._options import Keywords
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
            found = kind(str(value))
        except (KeyError, TypeError, ValueError):
            found = None
        if found is None or (not isinstance(found, str) and not abs(found) <= LARGEST_NUMBER):  # nor is NaN any number
            words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
            raise InputError(f"the option {self.name} is {shown(value)}", f"{self.name} is {words[kind]}")
        return found


@dataclass(frozen=True)
class Method:
    """A way to turn flows into a release."""

    name: str
    family: str
    promise: str
    summary: str
    steers: bool  # can it keep suppression within a budget?
    solve: Callable[..., Solution]
    options: tuple[Option, ...] = ()
    frontier: Callable[..., list[FrontierPoint]] | None = None  # precision against suppression
    losses: bool = False  # can it minimize any loss, and reach a given precision?
    joint: bool = False  # does it solve many matrices at one price of a suppressed trip?
    times: bool = False  # can time be one of its axes?
    crowds: bool = False  # is it enough to know all pairs of areas with enough people, not who these are?

    def parse_options(self, given: Mapping[str, Value] | Sequence[str] | None) -> dict[str, Value]:
        """Return the options given, checked."""
        known = {option.name: option for option in self.options}
        pairs = parse_pairs(given or {}, "options")
        return {
            parse_choice(name, f"option of {self.name}", known): known[name].parse(value)
            for name, value in pairs.items()
        }

    def cluster_options(
        self,
        k: int,
        k_weight: float | Literal["auto"] | None = None,
        *,
        engine: str = "spark",
        loss: str = DEFAULT_LOSS,
        time_hierarchy: str | None = None,
        elsewhere: bool = False,
        totals: bool = False,
        beside: str | Path | None = None,
    ) -> Keywords:
        """Return k and k_weight for `build_flows` on a cluster so that persons stay there, given what will be released.

        Nothing is returned, and ids of persons leave the cluster, where a release must know more than which pairs of
        areas have enough people; nor is anything for an engine that has no cluster.
        """
        whole_pairs = not (time_hierarchy or elsewhere or totals or beside)
        if engine != "spark" or not self.crowds or loss != DEFAULT_LOSS or not whole_pairs:
            return {}
        return {"k": parse_k(k), "k_weight": parse_k_weight(k_weight)}

    def run(self, problem: Problem, options: Mapping[str, Value], spread: Spread = over_cores) -> Solution:
        """Solve a problem; several matrices one by one where the method knows no better, or the budget is for each.

        These are solved where `spread` sends them.
        """
        own = {name: value for name, value in options.items() if name != BUDGET.name}
        budget = options.get(BUDGET.name, BUDGET.default)
        if budget not in BUDGETS:
            raise UnknownNameError("budget", str(budget), BUDGETS)
        if problem.flows.matrices is None or (self.joint and budget == BUDGET.default):
            return self.solve(problem, **own)
        return solve_each(partial(self.solve, **own), problem, spread)


BUDGETS = ("whole", "each")
BUDGET = Option("budget", "whole", "whole: one budget for all matrices; each: every matrix by itself")
_V_TARGET = Option("v_target", "auto", "trips an origin area should send; auto tries 15 targets")

_METHODS = (
    Method(
        name="mosaic",
        family="own areas for each flow",
        promise="k-anonymity",
        summary="cut the origin-destination space itself, each flow with its own pair of areas: the finest",
        steers=True,
        solve=mosaic.solve,
        options=(Option("time_weight", 1.0, "tiles that a step of time counts as, where time is an axis"), BUDGET),
        frontier=mosaic.frontier,
        losses=True,
        joint=True,
        times=True,
        crowds=True,
    ),
    Method(
        name="nested",
        family="one map for one end",
        promise="k-anonymity",
        summary="one map of one end, and for each of its areas a map of the other end",
        steers=True,
        solve=nested.solve,
        options=(
            Option("side", "either", "the end with one map: origin, destination, or either for the better one"),
            BUDGET,
        ),
        frontier=nested.frontier,
        losses=True,
        joint=True,
        crowds=True,
    ),
    Method(
        name="crosscut",
        family="one map for each end",
        promise="k-anonymity",
        summary="one map of origins and one of destinations: nothing overlaps, arrivals can be read off",
        steers=True,
        solve=crosscut.solve,
        options=(BUDGET,),
        frontier=crosscut.frontier,
        losses=True,
        joint=True,
        crowds=True,
    ),
    Method(
        name="atg-dual",
        family="one map for one end",
        promise="k-anonymity",
        summary="origins near a target volume, then the best destinations under one budget (ATG-Dual)",
        steers=True,
        solve=atg.solve_dual,
        options=(_V_TARGET,),
        frontier=atg.frontier,
        losses=True,
        crowds=True,
    ),
    Method(
        name="atg-soft",
        family="one map for one end",
        promise="k-anonymity",
        summary="the same at a fixed price of a suppressed trip (ATG-Soft)",
        steers=False,
        solve=atg.solve_soft,
        options=(_V_TARGET, Option("lam", "auto", "tiles of both areas a flow may have; auto is 10 % of all tiles")),
        crowds=True,
    ),
    Method(
        name="suppression",
        family="tiles",
        promise="k-anonymity",
        summary="publish the tile pairs that pass, drop the rest",
        steers=False,
        solve=suppression.solve,
        crowds=True,
    ),
    Method(
        name="odkanon",
        family="one map for each end",
        promise="k-anonymity",
        summary="filter hopeless pairs, then merge sibling areas until all pass (ODkAnon)",
        steers=True,
        solve=odkanon.solve,
        options=(
            Option("levels", 3, "steps up within which a tile pair must pass, or it is filtered"),
            Option("filter_budget", 0.10, "most tile pairs that may be filtered, as a share"),
            Option("balance", 0.03, "how far origins per destination may stray before one axis is forced"),
            Option("reinstate", default=True, meaning="count filtered trips again in flows that are published anyway"),
        ),
    ),
    Method(
        name="oigh",
        family="one map for each end",
        promise="k-anonymity",
        summary="one uniform cut of each tree, the best pair of them (OIGH)",
        steers=True,
        solve=oigh.solve,
        options=(Option("precision", "tiles", "what makes a cut precise: tiles of both ends, or steps up the trees"),),
        crowds=True,
    ),
    Method(
        name="knapsack",
        family="one map for one end",
        promise="k-anonymity",
        summary="origins near a target volume, then an exact tree knapsack of destinations for each",
        steers=True,
        solve=knapsack.solve,
        options=(
            _V_TARGET,
            Option("delta", knapsack.DELTA, "price of a suppressed trip, as a share of the tiles of both axes"),
        ),
        crowds=True,
    ),
    Method(
        name="mondrian",
        family="rectangles",
        promise="k-anonymity",
        summary="cut the space of flows at medians while both halves pass: rectangles, nothing left out (Mondrian)",
        steers=False,
        solve=mondrian.solve,
    ),
    Method(
        name="glove-od",
        family="overlapping rectangles",
        promise="k-anonymity",
        summary="merge the two groups of flows that stretch least, until all but the budget pass (GLOVE on flows)",
        steers=True,
        solve=glove.solve_od,
    ),
    Method(
        name="glove-sk",
        family="overlapping rectangles",
        promise="k-anonymity",
        summary="the lowest cut of a dendrogram of flows that is within the budget, blind to volumes (Glove-sk)",
        steers=True,
        solve=glove.solve_sk,
        options=(Option("max_flows", glove.MOST_FLOWS, "most tile pairs; memory grows with their square"),),
    ),
    Method(
        name="uniform-tiles",
        family="one map for each end",
        promise="k-anonymity",
        summary="the same step up everywhere, pairs that fail are dropped",
        steers=False,
        solve=uniform_tiles.solve,
        options=(Option("steps", 2, "steps up from the tiles; on a quadtree 2 is 4x4 tiles, 3 is 8x8, 4 is 16x16"),),
        crowds=True,
    ),
)


def _refuse(*_: object, **__: object) -> Solution:
    raise InputError(
        "this method adds noise: it starts from a matrix over a public box, not from flows",
        "give --epsilon E and --bbox W,S,E,N; in Python, build_matrix and add_noise",
    )


def _noisy(name: str, summary: str, *options: Option) -> Method:
    """Return a method of the room `matrices`, where its function stands."""
    largest = Option("max_cells", 2_000_000, "most boxes of a release")
    return Method(
        name=name,
        family="boxes with noise",
        promise="differential privacy",
        summary=summary,
        steers=False,
        solve=_refuse,
        options=(*options, largest),
    )


_CONSISTENT = Option("consistent", default=False, meaning="add a column that reconciles the counts of all depths")

_NOISY = (
    _noisy("identity", "noise on every cell of the grid"),
    _noisy("uniform", "one noisy total, spread evenly: what any other method must beat"),
    _noisy("eug", "a regular grid, its fineness by a noisy total (EUG, as published)"),
    _noisy("eug-border", "the same with the border of a query counted right in more than two dimensions"),
    _noisy("ebp", "a regular grid, its fineness by entropy (EBP)"),
    _noisy("mkm", "a regular grid, its fineness by M-estimators (MKM)", Option("variant", "lei", "lei or daf")),
    _noisy("daf-entropy", "a tree that cuts dense parts more finely (DAF-Entropy)", _CONSISTENT),
    _noisy(
        "daf-homogeneity",
        "the same with cuts chosen privately so that parts are even (DAF-Homogeneity)",
        Option("cut_share", 0.3, "share of a depth's budget that goes to cuts"),
        Option("candidate_cuts", 10, "lists of cuts to choose from"),
        _CONSISTENT,
    ),
    _noisy("laplace", "noise on every pair of tiles, empty ones too; those above zero are listed (ATG paper)"),
    _noisy(
        "noisy-mosaic",
        "noisy flows between H3 areas: a tree cut of origins and destinations, finer where busy",
        _CONSISTENT,
    ),
)


def methods() -> list[Method]:
    """Return every method, by name."""
    return sorted((*_METHODS, *_NOISY), key=lambda method: method.name)


def find_method(name: str) -> Method:
    """Return the method of that name, or raise with those that exist."""
    known = {method.name: method for method in (*_METHODS, *_NOISY)}
    return known[parse_choice(name, "method", known)]
