"""Checking a written release with noise: its structure and its budget. Noise itself cannot be checked."""

from __future__ import annotations

import math
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
from flowveil._verify.marginals import CHECKED_ZONES, check_marginals, check_zone_marginals
from flowveil._verify.members import Members
from flowveil._verify.names import check_names
from flowveil._verify.noise_budget import check_budget
from flowveil._verify.noise_layers import read_layers
from flowveil._verify.noise_streams import CHECKED as STREAM_CHECKED
from flowveil._verify.noise_tables import check_words, read_noisy_tables
from flowveil._verify.options import parse_options
from flowveil._verify.results import Verification
from flowveil._verify.tables import FlowTable, areas_of
from flowveil._verify.tiling import check_tiling
from flowveil._verify.written import check_written, load_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._places import NamedPlacesLike, ZonesLike
    from flowveil._verify.ground import Ground
    from flowveil._verify.noise_layers import Layers
    from flowveil._verify.noise_tables import NoisyTables
    from flowveil._verify.options import Options
    from flowveil._verify.sides import Side
    from flowveil._verify.tables import AreasTable

_MOST_TILES = 2_000_000  # of a box: twice as many as a release may have
_SLACK = 0.05  # in edges of a tile: edges of cells are bent, and a corner of the box may stick out
_KILOMETERS_A_DEGREE = 111.2
_LISTED = "every flow is a pair of tiles of the grid, listed once, with a count above zero"
_ALL_LAYERS = "every step of time and group of the manifest is there, with trips or without"
_PERSONS_CHECKED = "what was spent on persons fits the scale of their noise"
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
    matrix, layers = np.zeros(len(tables.counts), np.int64), None
    listed: list[str] = []
    if tables.areas is None:
        _check_boxes(tables)
    else:
        ground, tiles = _places(tables, zones)
        layers = read_layers(_options_of(tables), tables.options)
        matrix = _check_flows(tables, ground, tiles, layers)
        listed = ground.zone_ids if isinstance(ground, Members) else []
        _check_areas(tables, ground, places)
    spends = check_budget(tables, matrix, layers)
    if tables.marginals is not None and tables.areas is None:
        check_marginals(tables.marginals, tables.options["cells"], dict(spends), tables.trips_of_a_unit)
    elif tables.marginals is not None:
        check_zone_marginals(tables.marginals, listed, dict(spends), tables.manifest)
    _check_projection(tables, matrix)
    load_manifest(tables.folder)
    show = cells_content if tables.areas is None else noisy_flows_content
    report = (CHECKED_REPORT,) if check_report(tables.folder, show, context) else ()
    protects = tables.manifest["promise"]["protects"]
    divided = layers is not None and layers.matrices * layers.spans > 1
    checks = (
        "the folder and the manifest hold nothing but what the format lists",
        _LISTED if tables.positive_only else "the boxes cover the whole grid, and no two overlap",
        *((_ALL_LAYERS,) if divided else ()),
        f"every path of the budget adds up to at most epsilon = {tables.epsilon:g} for one {protects}",
        *(() if tables.window is None else (STREAM_CHECKED.format(tables.window),)),
        *((_PERSONS_CHECKED,) if tables.counts_persons else ()),
        "the non-negative counts keep the noisy total",
        *(() if tables.marginals is None else (MARGINALS_CHECKED if tables.areas is None else CHECKED_ZONES,)),
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
    options = _options_of(release)
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


def _options_of(release: NoisyTables) -> Options:
    """Return places, time and groups of the manifest; a clock may only cut the days or weeks of persons."""
    typed = {name: value for name, value in release.options.items() if name not in ("groups", "period", "persons")}
    if not {"time", "time_hierarchy"} & typed.keys():
        if not str(release.manifest["promise"]["protects"]).startswith("person-") and "timezone" in typed:
            raise broken("the manifest has a time zone, and nothing that a clock cuts")
        typed.pop("timezone", None)
    return parse_options(typed)


def _check_areas(release: NoisyTables, ground: Ground, places: NamedPlacesLike | None) -> None:
    """Check tiles, centers, outlines and names of areas: they follow from the ids."""
    options, areas = _options_of(release), _areas_table(release)
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


def _check_flows(release: NoisyTables, ground: Ground, tiles: IntArray, layers: Layers) -> IntArray:
    """Check that flows of each matrix cover all pairs of tiles once (or are pairs of tiles); return their matrices.

    Areas are those of the flows.
    """
    matrix, first, after = layers.place(release.table)
    ends = [texts(release.table[side]) for side in SIDES]
    sides = [_side(ground, sorted(set(ids)), tiles) for ids in ends]
    _check_used(release, ends)
    numbers = []
    for ids in ends:
        number = {area: place for place, area in enumerate(sorted(set(ids)))}
        numbers.append(np.array([number[area] for area in ids], np.int64))
    if release.positive_only:
        _check_listed(ground, ends, matrix, release.counts)
        return matrix
    flows = FlowTable(ends[0], ends[1], release.counts, persons=None, weight=None)
    held = [side.tiles_seen()[number] for side, number in zip(sides, numbers, strict=True)]
    covered = [0] * layers.matrices
    sizes = zip(matrix.tolist(), held[0].tolist(), held[1].tolist(), (after - first).tolist(), strict=True)
    for place, here, there, steps in sizes:
        covered[place] += here * there * steps
    if any(size != len(tiles) ** 2 * layers.spans for size in covered):
        raise broken("the flows do not cover every pair of tiles once, in each step of time and group")
    origins, destinations = (ground.extents(side.areas) for side in sides)
    slots = np.column_stack([first, matrix]), np.column_stack([after, matrix + 1])
    pair = origins.find_overlap(destinations, (numbers[0], numbers[1]), slots)
    if pair is not None:
        raise broken(f"the flows {flows.name(min(pair))} and {flows.name(max(pair))} overlap")
    return matrix


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


def _check_listed(ground: Ground, ends: list[list[str]], matrix: IntArray, counts: IntArray) -> None:
    """Check that flows are pairs of tiles, each once, with counts above zero."""
    if any(ground.tile(area) is None for ids in ends for area in set(ids)):
        raise broken("a flow is not between two tiles")
    if len(set(zip(*ends, matrix.tolist(), strict=True))) < len(counts):
        raise broken("a flow is listed twice")
    if (counts < 1).any():
        raise broken("a count is below one")


def _check_projection(release: NoisyTables, matrix: IntArray) -> None:
    projected = release.whole("nonnegative")
    sums: dict[int, list[int]] = {}
    for place, count, whole in zip(matrix.tolist(), release.counts.tolist(), projected.tolist(), strict=True):
        both = sums.setdefault(place, [0, 0])
        both[0] += count
        both[1] += whole
    if (projected < 0).any() or any(whole != max(count, 0) for count, whole in sums.values()):
        raise broken("the non-negative counts are negative or do not keep the noisy total")
