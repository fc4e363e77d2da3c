"""Precision against suppression, before anything is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flowveil._errors import InputError
from flowveil.methods import find_method, methods
from flowveil.release._anonymize import DEFAULT_LOSS, DEFAULT_METHOD, make_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil.flows import Flows

_SCHEMA = pa.schema(
    {
        "lambda": pa.float64(),
        "gbar": pa.float64(),
        "suppressed": pa.float64(),
        "flows": pa.int64(),
        "origin_areas": pa.int64(),
        "destination_areas": pa.int64(),
    }
)


def frontier(
    flows: Flows,
    method: str = DEFAULT_METHOD,
    k: int = 10,
    *,
    points: int = 24,
    loss: str = DEFAULT_LOSS,
    k_weight: float | None = None,
    min_tiles: int = 1,
    options: Mapping[str, Any] | None = None,
) -> pa.Table:
    """Return what a method reaches at different prices of a left-out trip, from the finest to the most complete.

    Columns: lambda (the price), gbar, suppressed (share of trips), flows, origin_areas, destination_areas. Private:
    it is computed from the true trips.
    """
    chosen = find_method(method)
    if chosen.frontier is None:
        able = ", ".join(other.name for other in methods() if other.frontier)
        raise InputError(f"{method} has no frontier: it has one answer", f"methods with a frontier: {able}")
    problem = make_problem(flows, chosen, k, k_weight, min_tiles, loss)
    rows = chosen.frontier(problem, points, **chosen.parse_options(options))
    rows = [row for row in rows if row.flows]
    columns = zip(*rows, strict=True) if rows else [[]] * len(_SCHEMA)
    return pa.table([pa.array(values, kind) for values, kind in zip(columns, _SCHEMA.types, strict=True)], _SCHEMA)
