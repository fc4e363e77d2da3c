"""The methods that add noise, as users know them: names, what they do, and options.

The function of each stands in the room `_matrices` under the same name, with underscores: to add a method, write its
function there and its line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._methods.method import Method, Option

if TYPE_CHECKING:
    from flowveil._problem import Solution


def _refuse(*_: object, **__: object) -> Solution:
    raise InputError(
        "this method adds noise: it starts from a matrix over a public box, not from flows",
        "give --epsilon E and --bbox W,S,E,N; in Python, build_matrix and add_noise",
    )


def _noisy(name: str, summary: str, *options: Option) -> Method:
    """Return a method that cannot solve a problem of flows: its function takes a matrix and a ledger."""
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
_TOTAL = Option("total_share", 0.01, "share of the budget for the noisy total that decides how fine the grid is")
_STOP = Option("stop_below", 1.5, "a part that deserves fewer parts than this is not cut")
_QUERIES = (
    Option("query_share", 0.0, "share of the space that your queries cover, if you know it; 0: all are as likely"),
    Option("border", 7.0710678118654755, "c0: the larger, the coarser the grid"),
    _TOTAL,
)

NOISY = (
    _noisy("identity", "noise on every cell of the grid"),
    _noisy("uniform", "one noisy total, spread evenly: what any other method must beat"),
    _noisy("eug", "a regular grid, its fineness by a noisy total (EUG, as published)", *_QUERIES),
    _noisy("eug-border", "the same with the border of a query counted right in more than two dimensions", *_QUERIES),
    _noisy("ebp", "a regular grid, its fineness by entropy (EBP)", _TOTAL),
    _noisy("mkm", "a regular grid, its fineness by M-estimators (MKM)", Option("variant", "lei", "lei or daf"), _TOTAL),
    _noisy("daf-entropy", "a tree that cuts dense parts more finely (DAF-Entropy)", _TOTAL, _STOP, _CONSISTENT),
    _noisy(
        "daf-homogeneity",
        "the same with cuts chosen privately so that parts are even (DAF-Homogeneity)",
        Option("cut_share", 0.3, "share of a depth's budget that goes to cuts"),
        Option("candidate_cuts", 10, "lists of cuts to choose from"),
        _TOTAL,
        _STOP,
        _CONSISTENT,
    ),
    _noisy(
        "privtree",
        "a tree that halves boxes with many trips, at one price for the whole tree (PrivTree)",
        Option("tree_share", 0.5, "share of the budget that goes to the tree, the rest to counts"),
    ),
    _noisy(
        "noisy-tree",
        "PrivTree with noisy marginals that tell how trips lie inside boxes, for any number of stops",
        Option("tree_share", 0.3, "share of the budget that goes to the tree"),
        Option("marginal_share", 0.3, "share of the budget that goes to marginals of single places"),
    ),
    _noisy("laplace", "noise on every pair of tiles, empty ones too; those above zero are listed (ATG paper)"),
    _noisy(
        "noisy-mosaic",
        "noisy flows between H3 areas: a tree cut of origins and destinations, finer where busy",
        Option("marginal_share", 0.1, "of zones: share of the budget for counts of each zone by itself; 0: none"),
        _CONSISTENT,
    ),
)
