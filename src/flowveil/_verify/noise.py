"""Checking a written release with noise: its structure and its budget. Noise itself cannot be checked."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import h3.api.basic_int as h3
import numpy as np

from flowveil._arrays import texts
from flowveil._errors import InputError, VerificationError
from flowveil._folder import SIDES, remembered
from flowveil._places import read_zones
from flowveil._report import CHECKED_REPORT, cells_content, check_report, noisy_flows_content
from flowveil._verify.areas import check_areas
from flowveil._verify.broken import broken
from flowveil._verify.folder import load_audit
from flowveil._verify.grids import make_grid
from flowveil._verify.marginals import CHECKED as MARGINALS_CHECKED
from flowveil._verify.marginals import check_marginals, marginal_spends
from flowveil._verify.members import Members
from flowveil._verify.method import HAS_MARGINALS
from flowveil._verify.names import check_names
from flowveil._verify.noise_tables import check_words, read_noisy_tables
from flowveil._verify.options import parse_options
from flowveil._verify.results import Verification
from flowveil._verify.tables import FlowTable, areas_of
from flowveil._verify.tiling import check_tiling
from flowveil._verify.written import check_written, load_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._folder import Json
    from flowveil._places import NamedPlacesLike, ZonesLike
    from flowveil._verify.ground import Ground
    from flowveil._verify.noise_tables import NoisyTables
    from flowveil._verify.sides import Side
    from flowveil._verify.tables import AreasTable

_ROUNDING = 1e-9  # relative; budgets are published as floats
_MOST_TILES = 2_000_000  # of a box: twice as many as a release may have
_SLACK = 0.05  # in edges of a tile: edges of cells are bent, and a corner of the box may stick out
_KILOMETERS_A_DEGREE = 111.2
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
_LISTED = "every flow is a pair of tiles of the grid, listed once, with a count above zero"
_CANNOT = "not checked: that the counts carry the noise they should; nobody can tell that from a release"


def verify_noisy(
    release: str | Path,
    *,
    zones: ZonesLike | None = None,
    places: NamedPlacesLike | None = None,
    context: ZonesLike | None = None,
) -> Verification:
    """Check structure and budget of a release with noise; raise VerificationError at the first that does not hold.

    zones: the zones of a release about zones; by default those that the private audit file names. places: likewise,
    what areas of a grid are called after. context: what the report shows beside the release.
    """
    tables = read_noisy_tables(release)
    check_words(tables)
    if tables.areas is None:
        _check_boxes(tables)
    else:
        ground, tiles = _places(tables, zones)
        _check_flows(tables, ground, tiles)
        _check_areas(tables, ground, places)
    spends = _check_budget(tables)
    if tables.marginals is not None:
        check_marginals(tables.marginals, tables.options["cells"], dict(spends), tables.trips_of_a_unit)
    _check_projection(tables)
    load_manifest(tables.folder)
    show = cells_content if tables.areas is None else noisy_flows_content
    report = (CHECKED_REPORT,) if check_report(tables.folder, show, context) else ()
    unit = "trip" if tables.manifest["promise"]["unit"] == "trip" else "person"
    checks = (
        "the folder and the manifest hold nothing but what the format lists",
        _LISTED if tables.positive_only else "the boxes cover the whole grid, and no two overlap",
        f"every path of the budget adds up to at most epsilon = {tables.epsilon:g} for one {unit}",
        "the non-negative counts keep the noisy total",
        *(() if tables.marginals is None else (MARGINALS_CHECKED,)),
        *report,
        *check_written(tables.folder, load_audit(tables.folder)),
        _CANNOT,
    )
    return Verification(checks, flows=len(tables.counts), trips_read=0)


def _check_boxes(release: NoisyTables) -> None:
    """Check that boxes tile the grid."""
    low, high = (
        np.column_stack([release.whole(f"{end}_{axis}") for axis in range(release.axes)]) for end in ("low", "high")
    )
    check_tiling(low, high, release.options["cells"])


def _places(release: NoisyTables, zones: ZonesLike | None) -> tuple[Ground, IntArray]:
    """Return the ground of the areas, and all tiles that a trip can start or end in."""
    options = parse_options(release.options)
    if options.many or options.aspect is not None:
        raise broken("a release with noise has areas of several trees")
    if options.by_zone:
        story = remembered(load_audit(release.folder))
        source = zones if zones is not None else story.zones
        if source is None:
            raise InputError("the release is about zones, and none were given", "give them with zones= or --zones FILE")
        table = read_zones(source, None if options.columns is None else options.columns[0], story.columns)
        return Members(table, options.columns, _areas_table(release)), np.arange(len(table.ids))
    if options.resolution is None or options.bbox is None:
        raise broken("the manifest does not describe the grid")
    return make_grid(options), _tiles_of_box(options.bbox, options.resolution)


def _check_areas(release: NoisyTables, ground: Ground, places: NamedPlacesLike | None) -> None:
    """Check tiles, centers, outlines and names of areas: they follow from the ids."""
    options, areas = parse_options(release.options), _areas_table(release)
    check_areas(areas, ground, options.bbox)
    check_names(areas, ground, options, places, load_audit(release.folder))


def _areas_table(release: NoisyTables) -> AreasTable:
    """Return the areas, whose columns must be those of the format."""
    if release.areas is None:
        raise broken("the release has no areas")
    return areas_of(release.areas, by_zone=release.options["grid"] is None)


def _tiles_of_box(bbox: tuple[float, float, float, float], resolution: int) -> IntArray:
    """Return every cell that a point of a box can lie in."""
    west, south, east, north = bbox
    share = (east - west) / 360 * (math.sin(math.radians(north)) - math.sin(math.radians(south))) / 2  # of the globe
    if share * h3.get_num_cells(resolution) > _MOST_TILES:
        raise broken(f"the box of the manifest has more than {_MOST_TILES:,} tiles")
    up = _SLACK * h3.average_hexagon_edge_length(resolution) / _KILOMETERS_A_DEGREE
    aside = up / max(math.cos(math.radians(max(abs(south), abs(north)))), 0.01)
    low, high, left, right = south - up, north + up, west - aside, east + aside
    outline = h3.LatLngPoly([(low, left), (low, right), (high, right), (high, left)])
    return np.array(h3.h3shape_to_cells_experimental(outline, resolution, "overlap"), np.int64)


def _check_flows(release: NoisyTables, ground: Ground, tiles: IntArray) -> None:
    """Check that flows cover all pairs of tiles once (or are pairs of tiles), and that areas are those of the flows."""
    ends = [texts(release.table[side]) for side in SIDES]
    sides = [_side(ground, sorted(set(ids)), tiles) for ids in ends]
    _check_used(release, ends)
    numbers = []
    for ids in ends:
        number = {area: place for place, area in enumerate(sorted(set(ids)))}
        numbers.append(np.array([number[area] for area in ids], np.int64))
    if release.positive_only:
        _check_listed(ground, ends, release.counts)
        return
    flows = FlowTable(ends[0], ends[1], release.counts, persons=None, weight=None)
    held = [side.tiles_seen()[number].tolist() for side, number in zip(sides, numbers, strict=True)]
    if sum(here * there for here, there in zip(*held, strict=True)) != len(tiles) ** 2:
        raise broken("the flows do not cover every pair of tiles once")
    origins, destinations = (ground.extents(side.areas) for side in sides)
    everywhere = np.zeros((len(flows), 1), np.int64)
    pair = origins.find_overlap(destinations, (numbers[0], numbers[1]), (everywhere, everywhere + 1))
    if pair is not None:
        raise broken(f"the flows {flows.name(min(pair))} and {flows.name(max(pair))} overlap")


def _side(ground: Ground, areas: list[str], tiles: IntArray) -> Side:
    """Return the areas of one end, each of which must hold some of the tiles."""
    if not all(_is_area(ground, area) for area in areas):
        raise broken("an area is not one of the grid")
    side = ground.side(areas)
    side.spots(tiles)
    if not side.tiles_seen().all():
        raise broken("an area is not one of the grid")
    return side


def _is_area(ground: Ground, area: str) -> bool:
    if isinstance(ground, Members) and area not in ground.members:
        return False
    try:
        if area != ground.top:
            ground.check_id(area)
    except VerificationError:
        return False
    return True


def _check_used(release: NoisyTables, ends: list[list[str]]) -> None:
    areas = release.areas
    names = [] if areas is None else zip(areas["area"].to_pylist(), areas["side"].to_pylist(), strict=True)
    if set(names) != {(area, side) for side, ids in zip(SIDES, ends, strict=True) for area in ids}:
        raise broken("the areas are not those of the flows")


def _check_listed(ground: Ground, ends: list[list[str]], counts: IntArray) -> None:
    """Check that flows are pairs of tiles, each once, with counts above zero."""
    if any(ground.tile(area) is None for ids in ends for area in set(ids)):
        raise broken("a flow is not between two tiles")
    if len(set(zip(*ends, strict=True))) < len(counts):
        raise broken("a flow is listed twice")
    if (counts < 1).any():
        raise broken("a count is below one")


def _check_budget(release: NoisyTables) -> list[tuple[str, float]]:
    """Check that the spends before a count and the count itself add up to epsilon on every path; return the spends."""
    spends = _spends(release.manifest["promise"]["budget"])
    first = _first_spends(release)
    _check_names_of_spends(release.manifest["method"], first, [name for name, _ in spends])
    spent = np.array(_sums_of_paths(spends, len(first)))
    scales = np.unique(release.scales)
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise broken("a scale is not a positive number")
    for scale in scales.tolist():
        total = spent + release.trips_of_a_unit / scale
        if not (np.abs(total - release.epsilon) <= _ROUNDING * release.epsilon).any():
            raise broken(f"a count with noise of scale {scale:g} does not fit any path of the budget")
    return spends


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


def _check_projection(release: NoisyTables) -> None:
    projected = release.whole("nonnegative")
    if (projected < 0).any() or projected.sum() != max(int(release.counts.sum()), 0):
        raise broken("the non-negative counts are negative or do not keep the noisy total")
