"""What a release lost, measured on the true trips, as the private report shows it: one function for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flowveil._errors import FlowveilError
from flowveil._kinds.before import before_and_after
from flowveil._kinds.left_out import flows_of_pairs, left_out_by_hour, left_out_by_key
from flowveil._matrices import query_errors
from flowveil._measure import MEANINGS, metrics
from flowveil._methods import find_method
from flowveil._release import frontier, measure_coverage, read_flows, recount, retrace
from flowveil._report import show
from flowveil._synthesis import evaluate_synthetic
from flowveil._trajectories import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._engine import Readable
    from flowveil._flows import Flows
    from flowveil._folder import Json, Manifest
    from flowveil._measure import Published
    from flowveil._places import ZonesLike
    from flowveil._trajectories import EvaluationFigures
    from flowveil._trips import TripsLike

_POINTS = 24
_NOT_METRICS = ("population", "tight", "elsewhere", "totals", "matrices")  # groups of figures, each a table of its own
_ERRORS = {
    "mre": "mean relative error, percent",
    "median": "median relative error, percent",
    "mae": "mean error, trips",
    "zero": "relative error of always answering 0, percent",
    "empty": "share of queries without a trip",
}


def flows_losses(
    folder: Path,
    trips: TripsLike,
    *,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
) -> dict[str, Json]:
    """Return what flows lost: all metrics, maps before and after, the frontier, and who is left out."""
    release = read_flows(folder)
    flows = recount(folder, release, trips, zones=zones, columns=columns, where=where)
    published = retrace(folder, release, flows)
    promise = release.manifest["promise"]
    figures = metrics(flows, published, promise["k"], k_weight=promise.get("k_weight"))
    hours = left_out_by_hour(folder, release, trips, flows, zones=zones, columns=columns, where=where)
    return {
        "lead": [_lead(figures)],
        "tables": [_coverage(flows, published), *_tables(figures)],
        "maps": before_and_after(flows, release),
        "frontier": _frontier(flows, release.manifest),
        "chosen": [figures["suppressed"], figures["gbar"]],
        "left_out": [*left_out_by_key(flows, published), *hours],
    }


def _coverage(flows: Flows, published: Published) -> dict[str, Json]:
    """Return a table of what of the input is in a release."""
    held = measure_coverage(flows, flows_of_pairs(flows, published))
    reasons = [[f"rows dropped: {reason}", f"{rows:,}", ""] for reason, rows in flows.dropped.items()]
    worst = [
        [
            f"most left out by {name}",
            f"{max(shares.values()):.1%}",
            f"of {max(shares, key=lambda value: shares[value])}",
        ]
        for name, shares in held.parts.items()
        if shares
    ]
    rows = [
        ["rows read", f"{held.rows:,}", ""],
        *reasons,
        ["rows outside the bbox", f"{held.outside_bbox:,}", ""],
        ["pairs of tiles", f"{held.pairs:,}", "with at least one trip"],
        ["pairs left out", f"{held.pairs_left_out:,}", "in no flow"],
        *worst,
    ]
    return {"title": "Coverage", "rows": [*rows, *(["warning", "", text] for text in held.doubts())]}


def _lead(figures: Mapping[str, Json]) -> str:
    """Return what was lost in one sentence, in meters and percent."""
    left_out = f"{100 * figures['suppressed']:.1f} % of the trips are left out."
    meters = figures.get("gdm")
    if meters is None:
        return left_out
    return (
        f"Places are off by {meters['mean']:,.0f} m on average, half of them by at most {meters['median']:,.0f} m: "
        f"from the true tile to the middle of the published area. {left_out}"
    )


def _tables(figures: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return all metrics with their meanings: the main ones, and a table for each group of more."""
    main = {name: value for name, value in figures.items() if name not in _NOT_METRICS}
    tables = [{"title": "Exact metrics", "rows": _rows(main, MEANINGS)}]
    tables += [
        {"title": MEANINGS[name].capitalize(), "rows": _rows(figures[name], MEANINGS)}
        for name in _NOT_METRICS
        if isinstance(figures.get(name), dict)
    ]
    return tables


def _rows(figures: Mapping[str, Json], meanings: Mapping[str, str]) -> list[list[str]]:
    rows = []
    for name, value in figures.items():
        if isinstance(value, dict):
            text = ", ".join(f"{part} {_text(number)}" for part, number in value.items())
        else:
            text = _text(value)
        rows.append([name, text, meanings.get(name, "")])
    return rows


def _text(value: Json) -> str:
    return show(value) if value is None or isinstance(value, int | float) else str(value)


def _frontier(flows: Flows, manifest: Manifest) -> list[list[float]] | None:
    """Return what each share of left-out trips would have bought; None where the method has one answer."""
    promise, typed = manifest["promise"], dict(manifest["options"].get("method_options", {}))
    typed.pop("max_gbar", None)
    if find_method(manifest["method"]).frontier is None or any(
        name in promise
        for name in ("remainders", "hidden_choice", "sensitive_tiles")  # which it does not follow
    ):
        return None
    try:
        curve = frontier(
            flows,
            manifest["method"],
            promise["k"],
            points=_POINTS,
            loss=str(typed.pop("loss", "tiles")),
            k_weight=promise.get("k_weight"),
            min_tiles=promise.get("min_tiles", 1),
            max_share=promise.get("max_share"),
            options=typed,
        )
    except FlowveilError:  # a release may stand where its frontier does not, e.g. on areas of an earlier one
        return None
    return sorted([row["suppressed"], row["gbar"]] for row in curve.to_pylist())


def noisy_losses(
    folder: Path, trips: TripsLike, *, columns: str | Mapping[str, str] | None = None, where: str | None = None
) -> dict[str, Json]:
    """Return what noise cost: errors of queries, a table for each workload."""
    return {
        "tables": [
            {"title": f"Errors of queries: {name}", "rows": _rows({key: errors[key] for key in _ERRORS}, _ERRORS)}
            for name, errors in query_errors(folder, trips, columns=columns, where=where).items()
        ]
    }


def trajectories_figures(
    folder: Path,
    trips: Readable,
    *,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    timezone: str = "UTC",
    seed: int = 0,
) -> EvaluationFigures:
    """Return what trajectories lost, as numbers."""
    return evaluate(folder, trips, columns=columns, where=where, timezone=timezone, seed=seed).figures()


def trajectories_losses(
    folder: Path, trips: Readable, *, columns: str | Mapping[str, str] | None = None, where: str | None = None
) -> dict[str, Json]:
    """Return what trajectories lost: the figures of `evaluate`, as tables."""
    figures = cast("dict[str, Json]", trajectories_figures(folder, trips, columns=columns, where=where))
    plain = {name: value for name, value in figures.items() if not _nested(value)}
    tables = [{"title": "Exact figures", "rows": _rows(plain, {})}]
    tables += [
        {"title": name.capitalize(), "rows": _rows(value, {})} for name, value in figures.items() if _nested(value)
    ]
    return {"tables": tables}


def synthetic_losses(
    folder: Path, trips: Readable, *, columns: str | Mapping[str, str] | None = None, where: str | None = None
) -> dict[str, Json]:
    """Return how far synthetic trajectories are from true ones, as a table."""
    figures = cast("dict[str, Json]", evaluate_synthetic(folder, trips, columns=columns, where=where))
    return {
        "tables": [
            {"title": title, "rows": _rows(figures[name], figures["meanings"])}
            for name, title in (("measures", "How far from the truth: 0 is the best"), ("nearest", "Nearest paths"))
        ]
    }


def _nested(value: Json) -> bool:
    return isinstance(value, dict) and any(isinstance(part, dict) for part in value.values())
