"""Checking a written release with noise: its structure and its budget. Noise itself cannot be checked."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import AREAS, CELLS, FLOWS, MANIFEST, REPORT, find_release, read_audit, remembered
from flowveil._matrices.ladder import runs
from flowveil._matrices.read import _broken as broken
from flowveil._matrices.read import read_noisy
from flowveil._matrices.tiles import make_tile_grid, make_zone_grid
from flowveil._places import parse_bbox
from flowveil._report import CHECKED_REPORT, cells_content, check_report, noisy_flows_content

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._matrices.release import NoisyRelease
    from flowveil._matrices.tiles import TileGrid
    from flowveil._places import ZonesLike

_KEYS = {"format", "software", "method", "options", "promise", "promise_text", "absence"}
_ROUNDING = 1e-9  # relative; budgets are published as floats
_LISTED = "every flow is a pair of tiles of the grid, listed once, with a count above zero"
CANNOT = "not checked: that the counts carry the noise they should; nobody can tell that from a release"


def verify_noisy(path: str | Path, zones: ZonesLike | None = None) -> tuple[int, tuple[str, ...]]:
    """Check a release with noise; return its number of boxes and what was found to hold, or raise.

    zones: the zones of a release about zones; by default those that the private audit file names.
    """
    release = read_noisy(path)
    folder = find_release(path)
    _check_folder(folder, release)
    if CELLS in release.tables:
        _check_cells(release)
    else:
        _check_areas(release, _make_grid(folder, release, zones))
    _check_budget(release)
    _check_projection(release)
    report = (
        (CHECKED_REPORT,)
        if check_report(folder, cells_content if CELLS in release.tables else noisy_flows_content)
        else ()
    )
    unit = "trip" if release.manifest["promise"]["unit"] == "trip" else "person"
    return len(release.counts), (
        "the folder and the manifest hold nothing but what the format lists",
        _LISTED if release.positive_only else "the boxes cover the whole grid, and no two overlap",
        f"every path of the budget adds up to at most epsilon = {release.epsilon:g} for one {unit}",
        "the non-negative counts keep the noisy total",
        *report,
        CANNOT,
    )


def _check_folder(folder: Path, release: NoisyRelease) -> None:
    needed = {MANIFEST, CELLS} if CELLS in release.tables else {MANIFEST, FLOWS, AREAS}
    found = {item.name for item in folder.iterdir()}
    if found - {REPORT} != needed:
        raise broken(f"the folder holds other files than {', '.join(sorted(needed))}")
    if set(release.manifest) != _KEYS:
        raise broken(f"the manifest has other keys than {', '.join(sorted(_KEYS))}")


def _check_cells(release: NoisyRelease) -> None:
    """Check that boxes tile the grid axis by axis: within boxes alike on earlier axes, intervals follow each other."""
    low, high = release.corners()
    cells = release.manifest["options"]["cells"]
    if not len(low) or (low < 0).any() or (high > cells).any() or (low >= high).any():
        raise broken("a box is empty or lies outside the grid")
    group = np.zeros(len(low), np.int64)
    for axis in range(low.shape[1]):
        rows = np.column_stack([group, low[:, axis], high[:, axis]])
        distinct, group = np.unique(rows, axis=0, return_inverse=True)
        group = group.ravel()
        first = np.append(True, distinct[1:, 0] != distinct[:-1, 0])
        last = np.append(first[1:], True)
        whole = (distinct[first, 1] == 0).all() and (distinct[last, 2] == cells).all()
        if not whole or (distinct[1:][~first[1:], 1] != distinct[:-1][~last[:-1], 2]).any():
            raise broken(f"along axis {axis} the boxes leave a gap or overlap")
    if len(np.unique(group)) < len(group):
        raise broken("a box is listed twice")


def _make_grid(folder: Path, release: NoisyRelease, zones: ZonesLike | None) -> TileGrid:
    options = release.manifest["options"]
    if options.get("grid", "") is None:
        story = remembered(read_audit(folder))
        source = zones if zones is not None else story.zones
        if source is None:
            raise InputError("the release is about zones, and none were given", "give them with zones= or --zones FILE")
        return make_zone_grid(source, options.get("hierarchy"), story.columns)
    try:
        return make_tile_grid(parse_bbox(options["bbox"]), options["grid"], options["hierarchy"])
    except (KeyError, TypeError, ValueError):
        raise broken("the manifest does not describe the grid") from None


def _check_areas(release: NoisyRelease, grid: TileGrid) -> None:
    """Check that the flows cover all pairs of tiles, each once, and that areas are those of the flows."""
    start, end = runs(grid.ladder.leaf, grid.tree.parent)
    names = grid.places.ids(grid.tree, np.arange(len(grid.tree)))
    number = {name: node for node, name in enumerate(names)}
    sides = [texts(release.table[side]) for side in ("origin", "destination")]
    if any(area not in number for side in sides for area in side):
        raise broken("an area is not one of the grid")
    known = release.areas
    listed = set(zip(known["area"].to_pylist(), known["side"].to_pylist(), strict=True)) if known is not None else set()
    if listed != {(area, name) for name, side in zip(("origin", "destination"), sides, strict=True) for area in side}:
        raise broken("the areas are not those of the flows")
    origin, destination = (np.array([number[area] for area in side], np.int64) for side in sides)
    if release.positive_only:
        _check_listed(grid, origin, destination, release.counts)
        return
    size = [(end - start)[nodes].astype(object) for nodes in (origin, destination)]
    if sum(size[0] * size[1]) != len(grid.ladder.leaf) ** 2:
        raise broken("the flows do not cover every pair of tiles once")
    _check_overlap(grid.tree.parent, origin, start[destination], end[destination])


def _check_listed(grid: TileGrid, origin: IntArray, destination: IntArray, counts: IntArray) -> None:
    """Check that flows are pairs of tiles, each once, with counts above zero."""
    if not (grid.tree.is_leaf[origin] & grid.tree.is_leaf[destination]).all():
        raise broken("a flow is not between two tiles")
    if len(np.unique(origin * len(grid.tree) + destination)) < len(origin):
        raise broken("a flow is listed twice")
    if (counts < 1).any():
        raise broken("a count is below one")


def _check_overlap(parent: IntArray, origin: IntArray, start: IntArray, end: IntArray) -> None:
    """Check that no two flows share a pair of tiles: two areas of a tree share tiles only if one holds the other."""
    order = np.argsort(origin, kind="stable")
    used, first = np.unique(origin[order], return_index=True)
    rows = dict(zip(used.tolist(), np.split(order, first[1:]), strict=True))
    for node in used.tolist():
        above, found = node, []
        while above >= 0:
            found.append(rows.get(above, order[:0]))
            above = int(parent[above])
        flows = np.concatenate(found)
        flows = flows[np.argsort(start[flows], kind="stable")]
        if (start[flows[1:]] < end[flows[:-1]]).any():
            raise broken("two flows overlap")


def _check_budget(release: NoisyRelease) -> None:
    """Check that the spends before a count and the count itself add up to epsilon on every path."""
    steps = _steps(release.manifest["promise"]["budget"])
    most, epsilon = release.trips_of_a_unit, release.epsilon
    scales = np.unique(release.scales)
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise broken("a scale is not a positive number")
    paths = np.array(_paths(steps))
    for scale in scales.tolist():
        spent = paths + most / scale
        if not (np.abs(spent - epsilon) <= _ROUNDING * epsilon).any():
            raise broken(f"a count with noise of scale {scale:g} does not fit any path of the budget")


def _steps(budget: Any) -> list[tuple[str, float]]:
    try:
        steps = [(str(step["spend"]), float(step["epsilon"])) for step in budget if set(step) == {"spend", "epsilon"}]
    except (TypeError, KeyError, ValueError):
        raise broken("the budget is not a list of spends") from None
    if len(steps) < len(budget) or not all(math.isfinite(value) and value > 0 for _, value in steps):
        raise broken("a spend of the budget is not a positive number")
    return steps


def _paths(steps: list[tuple[str, float]]) -> list[float]:
    """Return what paths may have spent: all counts down to some depth; cuts where there was a choice."""
    found = {0.0} if not steps else set()
    for end in range(1, len(steps) + 1):
        fixed = sum(value for name, value in steps[:end] if not name.startswith("cuts"))
        cuts = [value for name, value in steps[:end] if name.startswith("cuts")]
        found |= {fixed + sum(chosen) for chosen in product(*((0.0, cut) for cut in cuts))}
    return sorted(found)


def _check_projection(release: NoisyRelease) -> None:
    projected = release.nonnegative
    if (projected < 0).any() or projected.sum() != max(int(release.counts.sum()), 0):
        raise broken("the non-negative counts are negative or do not keep the noisy total")
