"""Marginals of a release with noise: counts of single places, which tell how trips lie inside boxes, or areas."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._arrays import texts
from flowveil._folder import SIDES
from flowveil._verify.broken import broken
from flowveil._verify.method import HAS_MARGINALS, MAY_HAVE_MARGINALS
from flowveil._verify.tiling import check_tiling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._arrays import IntArray
    from flowveil._folder import Json

_ZONES_SHARE = 0.1  # of epsilon: what marginals of zones cost where nothing was typed
_EDGES = ("low_0", "high_0", "low_1", "high_1")
_ROUNDING = 1e-9  # relative; budgets are published as floats
_COUNTS_SHARE = 0.5  # of what a marginal spends: its counts; the rest is for its tree
CHECKED = "the boxes of each marginal cover the grid, and their noise is what the budget says"
CHECKED_ZONES = "the marginals list every zone once at each end, and their noise is what the budget says"


def has_marginals(manifest: Mapping[str, Json]) -> bool:
    """Whether a release of that manifest, which anyone may have written, has marginals: one place needs none."""
    options = manifest.get("options")
    if manifest.get("method") == MAY_HAVE_MARGINALS:
        promise = manifest.get("promise")
        budget = promise.get("budget") if isinstance(promise, dict) else None
        first = marginal_spends(len(SIDES))[0]
        return isinstance(budget, list) and any(
            isinstance(each, dict) and each.get("spend") == first for each in budget
        )
    places = options.get("places") if isinstance(options, dict) else None
    return manifest.get("method") == HAS_MARGINALS and isinstance(places, list) and len(places) > 1


def marginal_spends(places: int) -> list[str]:
    """Return what marginals of so many places are called in a budget; one place needs none."""
    return [f"marginal {number}" for number in range(1, places + 1)] if places > 1 else []


def check_columns(table: pa.Table, places: list[str]) -> None:
    """Raise unless the table has the columns of the format, and the places in order."""
    types = {
        "place": pa.string(),
        **dict.fromkeys([*_EDGES, "count", "nonnegative"], pa.int64()),
        "scale": pa.float64(),
    }
    schema = table.schema
    if schema.names != list(types) or any(schema.field(name).type != kind for name, kind in types.items()):
        raise broken(f"the columns of the marginals are not {', '.join(types)}")
    if any(column.null_count for column in table.columns):
        raise broken("a column of the marginals has nulls")
    listed = texts(table["place"])
    if [place for place, _ in groupby(listed)] != places:
        raise broken("the marginals are not of the places of the manifest, one after the other")


def check_zone_columns(table: pa.Table) -> None:
    """Raise unless the table has the columns of marginals of zones, and both ends in order."""
    counts = dict.fromkeys(["count", "nonnegative"], pa.int64())
    types = {"place": pa.string(), "zone": pa.string(), **counts, "scale": pa.float64()}
    schema = table.schema
    if schema.names != list(types) or any(schema.field(name).type != kind for name, kind in types.items()):
        raise broken(f"the columns of the marginals are not {', '.join(types)}")
    if any(column.null_count for column in table.columns):
        raise broken("a column of the marginals has nulls")
    if tuple(place for place, _ in groupby(texts(table["place"]))) != SIDES:
        raise broken("the marginals are not of origins, then of destinations")


def check_zone_marginals(
    table: pa.Table, zones: Sequence[str], spends: Mapping[str, float], manifest: Mapping[str, Json]
) -> None:
    """Raise unless each end lists every zone once, adds up, and has the noise that was paid for, as was typed."""
    promise, options = manifest["promise"], manifest["options"].get("method_options", {})
    typed = options.get("marginal_share", _ZONES_SHARE) * promise["epsilon"]
    for number, place in enumerate(SIDES):
        part = table.filter(pc.equal(table["place"], pa.scalar(place)))
        if texts(part["zone"]) != sorted(zones):
            raise broken(f"the marginal of {place} does not list every zone once, in order")
        paid = spends.get(f"marginal {number + 1}", 0.0)
        if abs(len(SIDES) * paid - typed) > _ROUNDING * typed:
            raise broken(f"the marginal of {place} did not cost what the manifest says")
        _check_counts(part, paid, int(promise["max_trips_per_person"] or 1), place)


def check_marginals(table: pa.Table, cells: int, spends: Mapping[str, float], trips_of_a_unit: int) -> None:
    """Raise unless the boxes of each place tile the grid, add up, and have the noise that was paid for.

    spends: what each marginal spends of epsilon, by its name in the budget.
    """
    for number, place in enumerate(dict.fromkeys(texts(table["place"]))):
        part = table.filter(pc.equal(table["place"], pa.scalar(place)))
        low, high = (np.column_stack([_whole(part, f"{end}_{axis}") for axis in (0, 1)]) for end in ("low", "high"))
        check_tiling(low, high, cells)
        _check_counts(part, _COUNTS_SHARE * spends[f"marginal {number + 1}"], trips_of_a_unit, place)


def _check_counts(part: pa.Table, paid: float, trips_of_a_unit: int, place: str) -> None:
    """Raise unless counts of a place add up, and have the noise that was paid for."""
    projected, total = _whole(part, "nonnegative"), int(_whole(part, "count").sum())
    if (projected < 0).any() or projected.sum() != max(total, 0):
        raise broken("the non-negative counts of a marginal are negative or do not keep the noisy total")
    scales = part["scale"].to_numpy()
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise broken("a scale of a marginal is not a positive number")
    if (np.abs(trips_of_a_unit / scales - paid) > _ROUNDING * paid).any():
        raise broken(f"the noise of the marginal of {place} is not what the budget says")


def _whole(table: pa.Table, column: str) -> IntArray:
    return np.asarray(table[column].to_numpy(), np.int64)
