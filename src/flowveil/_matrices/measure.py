"""How far off a written release with noise is on thousands of queries. Private: it needs the true trips."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import CELLS, SIDES, read_audit, remembered
from flowveil._matrices.area_workloads import answer_runs, lay_grid
from flowveil._matrices.build import DEFAULT_CELLS, build_matrix, build_tile_matrix
from flowveil._matrices.frames import build_frame_matrix
from flowveil._matrices.ladder import runs
from flowveil._matrices.read import read_noisy
from flowveil._matrices.tiles import make_tile_grid
from flowveil._matrices.workloads import (
    PLACEMENTS,
    SIZES,
    Workload,
    answer_by_place,
    answer_queries,
    make_workload,
    mre,
    sanity_of,
)
from flowveil._options import parse_bbox, parse_whole
from flowveil._places import read_districts
from flowveil._reading import read_marginals, reconstruct_flows
from flowveil._trips import reopen_trips

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from flowveil._arrays import FloatArray
    from flowveil._engine import Readable
    from flowveil._matrices.points import Points
    from flowveil._matrices.release import NoisyRelease
    from flowveil._matrices.tiles import TileGrid
    from flowveil._places import Zones, ZonesLike, ZoneTable
    from flowveil._trips import Trips, TripsLike

_ENDS = {("origin", "destination"): "both", ("origin",): "origin", ("destination",): "destination"}

_ALL_DAYS = 1_000_000  # of a person: all count as true


def query_errors(
    release: str | Path,
    trips: TripsLike,
    *,
    queries: int = 300,
    seed: int = 0,
    stops: str | Sequence[str] = (),
    frames: str | None = None,
    timezone: str | None = None,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
) -> dict[str, dict[str, float | None]]:
    """Return for each workload the mean relative error in percent, and what it hides; the figures are private.

    Workloads are queries of any size, and of 1, 5 and 10 % of each side, placed uniformly and around random trips. They
    are the same for the same seed and trips. All trips count as true, also those that a bound left out.
    stops: columns of stops, if the release has any. frames, timezone: as the release was made, if it is of frames of a
    day; trips are then samples. zones: zones of your own, whose flows are your questions: a row for all pairs of them
    between which there are trips, or seem to be. Releases about zones, or of pairs that noise left above zero, are
    measured on their own pairs.
    columns, where: of the trips, unless the audit file beside the release tells.

    >>> list(fv.query_errors("noisy", "trips.parquet", queries=10))[:3]
    ['random', '1% uniform', '1% records']
    """
    queries = parse_whole(queries, "queries", "give a whole number from 1 to 1,000,000", 1, 1_000_000)
    seed = parse_whole(seed, "seed", "a seed is a whole number, 0 or more", 0)
    written = read_noisy(release)
    options = written.manifest["options"]
    story = remembered(read_audit(release))
    places = options.get("places", ["origin", "destination"])
    ends = _ENDS.get(tuple(place for place in places if not place.startswith("stop ")))
    cells = options.get("cells", DEFAULT_CELLS)
    if ends is None:
        if frames is None:
            raise InputError(
                f"the release is of frames of a day: {', '.join(places)}", "give --frames and --timezone as it was made"
            )
        if zones is not None or stops:
            raise InputError("frames have no zones or stops", "leave them out")
        days = build_frame_matrix(
            cast("Readable", trips),
            options["bbox"],
            cells,
            frames=frames,
            timezone=timezone or "UTC",
            max_trips_per_person=_ALL_DAYS,
            columns=columns or story.columns or None,
            where=where or story.where,
        )
        if days.grid.places != tuple(places):
            raise InputError(f"the frames of the release are {', '.join(places)}", "give those that it was made with")
        return _many(written, days.points, queries, seed)
    if frames is not None or timezone is not None:
        raise InputError("the release is not of frames of a day", "leave out --frames and --timezone")
    trips = reopen_trips(trips, story, columns, where)
    if written.positive_only or options.get("bbox") is None:
        own = zones if zones is not None else story.zones
        return {"own pairs": _own_pairs(written, trips, None if options.get("bbox") else own)}
    points = build_matrix(trips, options["bbox"], cells, ends=ends, stops=stops).points
    if len(points.lengths) != 2 * len(places):
        raise InputError("the release has stops", "name their columns, two for each stop: --stops LON,LAT")
    found = _many(written, points, queries, seed)
    if zones is not None:
        found["your zones"] = _between(written, trips, read_districts(zones, trips.mapping, columns))
    return found


def _many(written: NoisyRelease, points: Points, queries: int, seed: int) -> dict[str, dict[str, float | None]]:
    """Return the errors of every workload."""
    answer = _answers(written, points.lengths[0])
    kinds = [(size, place) for size in SIZES for place in PLACEMENTS if size != "random" or place == PLACEMENTS[0]]
    asked = [make_workload(points, *kind, queries, seed) for kind in kinds]
    return {workload.name: mre(workload, answer(workload)) for workload in asked}


def _own_pairs(written: NoisyRelease, trips: Trips, zones: ZonesLike | None) -> dict[str, float | None]:
    """Return the error of flows as they are published, over all steps of time and groups together."""
    options = written.manifest["options"]
    hierarchy = options["hierarchy"]
    if zones is None and options.get("bbox") is None:
        raise InputError("the release is about zones, and none were given", "give them with zones= or --zones FILE")
    matrix = (
        build_tile_matrix(trips, options["bbox"], options["grid"], hierarchy=hierarchy)
        if zones is None
        else build_tile_matrix(trips, zones=zones, hierarchy=hierarchy)
    )
    grid, points = cast("TileGrid", matrix.grid), matrix.points
    start, end = runs(grid.ladder.leaf, grid.tree.parent)
    number = {name: node for node, name in enumerate(grid.places.ids(grid.tree, np.arange(len(grid.tree))))}
    pairs = list(zip(*(texts(written.table[side]) for side in SIDES), strict=True))
    published = _add_up(pairs, written.counts.astype(np.float64))
    boxes = np.array([[number[area] for area in pair] for pair in published], np.int64).reshape(-1, 2)
    true = answer_queries(start[boxes], end[boxes], points.cells, points.cells + 1, points.counts.astype(np.float64))
    return _errors(true, np.array(list(published.values())), int(points.counts.sum()))


def _between(written: NoisyRelease, trips: Trips, zones: ZoneTable) -> dict[str, float | None]:
    """Return the error of flows between zones of one's own."""
    table = zones.as_table()  # whose ids stand in zone_id, whatever the file calls them
    trips = replace(trips, mapping={name: column for name, column in trips.mapping.items() if name != "zone_id"})
    estimated = reconstruct_flows(written.files, table).flows
    told = _add_up(list(zip(*(texts(estimated[side]) for side in SIDES), strict=True)), estimated["trips"].to_numpy())
    matrix = build_tile_matrix(trips, zones=table, hierarchy="ward")
    grid, points = cast("TileGrid", matrix.grid), matrix.points
    leaf = grid.ladder.leaf[points.cells]
    names = [cast("Zones", grid.places).table.ids[zone] for zone in grid.tree.key[leaf].ravel().astype(np.int64)]
    ends = np.array(names, object).reshape(-1, 2).tolist()
    true = _add_up([(start, end) for start, end in ends], points.counts.astype(np.float64))
    every = sorted(told.keys() | true.keys())
    counted, answered = (np.array([each.get(pair, 0.0) for pair in every]) for each in (true, told))
    return _errors(counted, answered, int(points.counts.sum()))


def _add_up(pairs: list[tuple[str, str]], amounts: FloatArray) -> dict[tuple[str, str], float]:
    """Return the sum of amounts by pair."""
    sums: dict[tuple[str, str], float] = {}
    for pair, amount in zip(pairs, amounts.tolist(), strict=True):
        sums[pair] = sums.get(pair, 0.0) + amount
    return sums


def _errors(true: FloatArray, answers: FloatArray, total: int) -> dict[str, float | None]:
    """Return the errors of questions, judged as those of workloads are."""
    nowhere = np.zeros((len(true), 1), np.int64)
    return mre(Workload("questions", nowhere, nowhere, true, sanity_of(total)), answers)


def _answers(release: NoisyRelease, cells: int) -> Callable[[Workload], FloatArray]:
    """Return a function that answers a workload from a release."""
    if CELLS in release.tables:
        low, high = release.corners()
        values = release.counts.astype(np.float64)
        if known := read_marginals(release.tables):
            spread = [known[place] for place in release.manifest["options"]["places"]]
            return lambda workload: answer_by_place(workload, low, high, values, spread)
        return lambda workload: answer_queries(workload.low, workload.high, low, high, values)
    options = release.manifest["options"]
    grid = make_tile_grid(parse_bbox(options["bbox"]), options["grid"], options["hierarchy"])
    start, end = runs(grid.ladder.leaf, grid.tree.parent)
    number = {name: node for node, name in enumerate(grid.places.ids(grid.tree, np.arange(len(grid.tree))))}
    sides = [
        np.array([number[area] for area in texts(release.table[side])], np.int64) for side in ("origin", "destination")
    ]
    ends = [(start[nodes], end[nodes]) for nodes in sides]
    lattice = lay_grid(grid, cells)
    return lambda workload: answer_runs(workload, ends, release.counts, lattice, len(grid.ladder.leaf))
