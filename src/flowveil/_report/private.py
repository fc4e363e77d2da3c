"""The private report: what a release shows, and what it lost, measured on the true trips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowveil._errors import FlowveilError, InputError
from flowveil._measure import MEANINGS, metrics
from flowveil._methods import find_method
from flowveil._release import frontier, read_audit, read_release, recount, remembered, retrace
from flowveil._release.write import CELLS, MANIFEST, TRAJECTORIES
from flowveil._report.before import before_and_after
from flowveil._report.left_out import left_out_by_hour, left_out_by_key
from flowveil._report.make import read_content
from flowveil._report.page import Look, page, show
from flowveil._report.words import NOISE
from flowveil._trips import Trips

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._flows import Flows

_POINTS = 24
_NOT_METRICS = ("population", "elsewhere", "totals", "matrices")  # groups of figures, each a table of its own
_ERRORS = {
    "mre": "mean relative error, percent",
    "median": "median relative error, percent",
    "mae": "mean error, trips",
    "zero": "relative error of always answering 0, percent",
    "empty": "share of queries without a trip",
}


def make_private(folder: Path, files: Mapping[str, Any], trips: Any, **options: Any) -> str:
    """Return the private report of a release and the input it was made from."""
    content = read_content(files)
    if TRAJECTORIES in files:
        found = _of_trajectories(folder, trips, **options)
    elif CELLS in files or files[MANIFEST]["promise"]["kind"] == NOISE:
        found = _of_noise(folder, trips, **options)
    else:
        found = _of_flows(folder, trips, **options)
    where = trips.where if isinstance(trips, Trips) else options.get("where") or remembered(read_audit(folder)).where
    if where is not None:
        rows = [["where", where, "only rows that fulfill this condition were looked at"]]
        found["tables"].append({"title": "Input", "rows": rows})
    return page(content.numbers(), content.scene.as_json(), content.words, Look.PRIVATE, found)


def _of_flows(folder: Path, trips: Trips | Any, **options: Any) -> dict[str, Any]:
    release = read_release(folder)
    flows = recount(folder, release, trips, **options)
    published = retrace(folder, release, flows)
    promise = release.manifest["promise"]
    figures = metrics(flows, published, promise["k"], k_weight=promise.get("k_weight"))
    hours = left_out_by_hour(folder, release, trips, flows, published, **options)
    return {
        "tables": _tables(figures),
        "maps": before_and_after(flows, release),
        "frontier": _frontier(flows, release.manifest),
        "chosen": [figures["suppressed"], figures["gbar"]],
        "left_out": [*left_out_by_key(flows, published), *hours],
    }


def _tables(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all metrics with their meanings: the main ones, and a table for each group of more."""
    main = {name: value for name, value in figures.items() if name not in _NOT_METRICS}
    tables = [{"title": "Exact metrics", "rows": _rows(main, MEANINGS)}]
    tables += [
        {"title": MEANINGS[name].capitalize(), "rows": _rows(figures[name], MEANINGS)}
        for name in _NOT_METRICS
        if isinstance(figures.get(name), dict)
    ]
    return tables


def _rows(figures: Mapping[str, Any], meanings: Mapping[str, str]) -> list[list[str]]:
    rows = []
    for name, value in figures.items():
        if isinstance(value, dict):
            text = ", ".join(f"{part} {_text(number)}" for part, number in value.items())
        else:
            text = _text(value)
        rows.append([name, text, meanings.get(name, "")])
    return rows


def _text(value: Any) -> str:
    return show(value) if value is None or isinstance(value, int | float) else str(value)


def _frontier(flows: Flows, manifest: Mapping[str, Any]) -> list[list[float]] | None:
    """Return what each share of left-out trips would have bought; None where the method has one answer."""
    promise, typed = manifest["promise"], dict(manifest["options"].get("method_options", {}))
    typed.pop("max_gbar", None)
    if find_method(manifest["method"]).frontier is None:
        return None
    try:
        found = frontier(
            flows,
            manifest["method"],
            promise["k"],
            points=_POINTS,
            loss=typed.pop("loss", "tiles"),
            k_weight=promise.get("k_weight"),
            min_tiles=promise.get("min_tiles", 1),
            options=typed,
        )
    except FlowveilError:  # a release may stand where its frontier does not, e.g. on areas of an earlier one
        return None
    return sorted([row["suppressed"], row["gbar"]] for row in found.to_pylist())


def _of_noise(folder: Path, trips: Any, *, zones: Any = None, **options: Any) -> dict[str, Any]:
    from flowveil._matrices import query_errors  # noqa: PLC0415  it verifies its reports with this room

    if zones is not None:
        raise InputError("a release with noise is measured by queries, without zones", "leave out --zones")
    errors = query_errors(folder, trips, **options)
    return {
        "tables": [
            {"title": f"Errors of queries: {name}", "rows": _rows({key: found[key] for key in _ERRORS}, _ERRORS)}
            for name, found in errors.items()
        ]
    }


def _of_trajectories(folder: Path, trips: Any, *, zones: Any = None, **options: Any) -> dict[str, Any]:
    from flowveil._trajectories import evaluate  # noqa: PLC0415  it verifies its reports with this room

    if zones is not None:
        raise InputError("trajectories have no zones", "leave out --zones")
    figures = evaluate(folder, trips, **options).figures()
    plain = {name: value for name, value in figures.items() if not _nested(value)}
    tables = [{"title": "Exact figures", "rows": _rows(plain, {})}]
    tables += [
        {"title": name.capitalize(), "rows": _rows(value, {})} for name, value in figures.items() if _nested(value)
    ]
    return {"tables": tables}


def _nested(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(part, dict) for part in value.values())
