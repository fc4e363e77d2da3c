"""Every method, with what it promises and the options it takes."""

from __future__ import annotations

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
from flowveil._methods.method import BUDGET, ONE_TARGET, V_TARGET, Method, Option
from flowveil._methods.noisy import NOISY
from flowveil._options import parse_choice

_METHODS = (
    Method(
        name="mosaic",
        family="own areas for each flow",
        promise="k-anonymity",
        summary="cut the origin-destination space itself, each flow with its own pair of areas: the finest tree method",
        steers=True,
        solve=mosaic.solve,
        options=(
            Option("time_weight", 1.0, "tiles that a step of time counts as, where time is an axis"),
            Option("keep_safe", default=False, meaning="publish every pair of tiles that passes by itself as it is"),
            BUDGET,
        ),
        frontier=mosaic.frontier,
        losses=True,
        joint=True,
        times=True,
        several=True,
        remainders=True,
        crowds=True,
        sensitive=True,
        same_areas=True,
        shares=True,
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
        several=True,
        crowds=True,
        sensitive=True,
        shares=True,
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
        sensitive=True,
        shares=True,
    ),
    Method(
        name="atg-dual",
        family="one map for one end",
        promise="k-anonymity",
        summary="origins near a target volume, then the best destinations under one budget (ATG-Dual)",
        steers=True,
        solve=atg.solve_dual,
        options=(V_TARGET, ONE_TARGET),
        frontier=atg.frontier,
        outcome=atg.dual_outcome,
        losses=True,
        crowds=True,
        sensitive=True,
        shares=True,
    ),
    Method(
        name="atg-soft",
        family="one map for one end",
        promise="k-anonymity",
        summary="the same at a fixed price of a suppressed trip (ATG-Soft)",
        steers=False,
        solve=atg.solve_soft,
        options=(
            V_TARGET,
            Option("lam", "auto", "tiles of both areas a flow may have; auto is 10 % of all tiles"),
            ONE_TARGET,
        ),
        outcome=atg.soft_outcome,
        crowds=True,
        sensitive=True,
        shares=True,
    ),
    Method(
        name="suppression",
        family="tiles",
        promise="k-anonymity",
        summary="publish the tile pairs that pass, drop the rest",
        steers=False,
        solve=suppression.solve,
        crowds=True,
        sensitive=True,
        shares=True,
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
        shares=True,
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
        sensitive=True,
        shares=True,
    ),
    Method(
        name="knapsack",
        family="one map for one end",
        promise="k-anonymity",
        summary="origins near a target volume, then an exact tree knapsack of destinations for each",
        steers=True,
        solve=knapsack.solve,
        options=(
            V_TARGET,
            Option("delta", knapsack.DELTA, "price of a suppressed trip, as a share of the tiles of both axes"),
            ONE_TARGET,
        ),
        outcome=knapsack.outcome,
        crowds=True,
    ),
    Method(
        name="mondrian",
        family="rectangles",
        promise="k-anonymity",
        summary="cut the space of flows at medians while both halves pass: rectangles, nothing left out (Mondrian)",
        steers=False,
        solve=mondrian.solve,
        shares=True,
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
        sensitive=True,
        shares=True,
    ),
)


def methods() -> list[Method]:
    """Return every method, by name.

    >>> len([method for method in fv.methods() if method.promise == "k-anonymity"])
    13
    """
    return sorted((*_METHODS, *NOISY), key=lambda method: method.name)


def noisy_methods() -> tuple[Method, ...]:
    """Return the methods that add noise, the simplest first."""
    return NOISY


def find_method(name: str) -> Method:
    """Return the method of that name, or raise with those that exist."""
    known = {method.name: method for method in (*_METHODS, *NOISY)}
    return known[parse_choice(name, "method", known)]
