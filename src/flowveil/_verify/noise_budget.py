"""Checking the budget of a release with noise: what every path spends adds up to epsilon."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from flowveil._folder import SIDES
from flowveil._verify.broken import broken
from flowveil._verify.marginals import marginal_spends
from flowveil._verify.method import HAS_MARGINALS
from flowveil._verify.noise_streams import check_repeated, check_windows, read_draws

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._verify.noise_layers import Layers
    from flowveil._verify.noise_tables import NoisyTables

_ROUNDING = 1e-9  # relative; budgets are published as floats
_MOST_PATHS = 1_000_000  # of a budget; real ones have a few hundred
_TREE = "tree"  # the spend for which boxes are halved
_FIRST = {  # what methods spend before they divide the trips, if it is not a total
    "identity": [],
    "uniform": [],
    "laplace": [],
    "privtree": [_TREE],
}
_SPENDS = {  # what others spend after that
    "daf-entropy": ("counts",),
    "daf-homogeneity": ("counts", "cuts"),
    "noisy-mosaic": ("counts",),
}
_BOUND, _PERSONS, _COMPARISON = "max_trips_per_person", "persons", "comparison"  # names of spends


def check_budget(release: NoisyTables, matrix: IntArray, layers: Layers | None) -> list[tuple[str, float]]:
    """Check that the spends before a count and the count itself add up to epsilon on every path; return the spends."""
    promise = release.manifest["promise"]
    spends = _spends(promise["budget"])
    if release.window is not None and layers is not None:
        _check_stream(release, matrix, layers, spends)
        return spends
    before = _before(release, spends)
    first = [*before, *_first_spends(release)]
    _check_names_of_spends(release.manifest["method"], first, [name for name, _ in spends])
    _check_scales(release.scales, release.trips_of_a_unit, spends, len(first), release.epsilon)
    if release.counts_persons:
        scales = np.unique(np.asarray(release.table["persons_scale"].to_numpy(), np.float64))
        paid = dict(spends)[_PERSONS]
        if not (np.isfinite(scales) & (scales > 0)).all() or len(scales) > 1:
            raise broken("the scales of persons are not one positive number")
        if any(abs(release.trips_of_a_unit / scale - paid) > _ROUNDING * paid for scale in scales.tolist()):
            raise broken("the noise of persons does not fit what was spent on them")
    return spends


def _before(release: NoisyTables, spends: list[tuple[str, float]]) -> list[str]:
    """Return what is spent of a unit before any trips are looked at: a bound that was chosen, and persons."""
    chosen = [_BOUND] if spends[:1] and spends[0][0] == _BOUND else []
    if chosen and release.manifest["promise"]["unit"] == "trip":
        raise broken("a bound was chosen for persons, and there are none")
    of_zones = marginal_spends(len(SIDES)) if release.areas is not None and release.marginals is not None else []
    return [*chosen, *([_PERSONS] if release.counts_persons else []), *of_zones]


def _check_scales(scales: FloatArray, most: int, spends: list[tuple[str, float]], first: int, epsilon: float) -> None:
    """Raise unless what is spent down to each count, and on it, is epsilon."""
    spent = np.array(_sums_of_paths(spends, first))
    distinct = np.unique(scales)
    if not (np.isfinite(distinct) & (distinct > 0)).all():
        raise broken("a scale is not a positive number")
    for scale in distinct.tolist():
        total = spent + most / scale
        if not (np.abs(total - epsilon) <= _ROUNDING * epsilon).any():
            raise broken(f"a count with noise of scale {scale:g} does not fit any path of the budget")


def _check_stream(release: NoisyTables, matrix: IntArray, layers: Layers, spends: list[tuple[str, float]]) -> None:
    """Check every draw of a stream, what windows spend, and that other steps repeat draws."""
    promise, method = release.manifest["promise"], release.manifest["method"]
    if [name for name, _ in spends] != [_COMPARISON] or method not in _SPENDS:
        raise broken("the spends of the budget are not those of a stream")
    draws = read_draws(promise, layers)
    check_windows(release.epsilon, release.window or 1, spends[0][1], draws, layers)
    drawn = check_repeated(release.table, matrix, draws, layers)
    for place, (epsilon, budget) in draws.items():
        own = _spends(budget)
        _check_names_of_spends(method, ["total"], [name for name, _ in own])
        _check_scales(release.scales[drawn == place], release.trips_of_a_unit, own, 1, epsilon)


def _spends(budget: Json) -> list[tuple[str, float]]:
    """Return what is spent, in order, and how much."""
    try:
        spends = [(str(step["spend"]), float(step["epsilon"])) for step in budget if set(step) == {"spend", "epsilon"}]
    except (TypeError, KeyError, ValueError):
        raise broken("the budget is not a list of spends") from None
    if len(spends) < len(budget) or not all(math.isfinite(value) and value > 0 for _, value in spends):
        raise broken("a spend of the budget is not a positive number")
    return spends


def _first_spends(release: NoisyTables) -> list[str]:
    """Return the names of what every path spends: before trips are divided, or for all of them together."""
    method = release.manifest["method"]
    if method == HAS_MARGINALS:
        return [*marginal_spends(len(release.options["places"])), _TREE]
    return _FIRST.get(method, ["total"])


def _check_names_of_spends(method: str, first: list[str], names: list[str]) -> None:
    """Raise unless these are what the method spends before a count: a total, then counts and cuts, depth by depth."""
    deeper = names[len(first) :]
    whats = [re.fullmatch(r"(counts|cuts) (0|[1-9][0-9]{0,3})", name) for name in deeper]
    steps = [(int(what[2]), what[1]) for what in whats if what]
    allowed = _SPENDS.get(method, ())
    known = len(steps) == len(deeper) and all(what in allowed for _, what in steps)
    if names != [*first, *deeper] or not known or steps != sorted(set(steps)):
        raise broken(f"the spends of the budget are not those of {method}, in order")


def _sums_of_paths(spends: list[tuple[str, float]], first: int) -> list[float]:
    """Return what paths may have spent: the `first` spends, counts down to some depth, cuts if there was a choice."""
    here = {sum(value for _, value in spends[:first])}
    sums = set(here)
    for name, value in spends[first:]:
        deeper = {spent + value for spent in here}
        here = here | deeper if name.startswith("cuts") else deeper
        sums |= here
        if len(sums) > _MOST_PATHS:
            raise broken("the budget has too many spends")
    return sorted(sums)
