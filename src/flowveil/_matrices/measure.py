"""How far off a written release with noise is on thousands of queries. Private: it needs the true trips."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import CELLS, check_sums, read_audit, remembered
from flowveil._matrices.area_workloads import answer_runs, lay_grid
from flowveil._matrices.build import DEFAULT_CELLS, build_matrix
from flowveil._matrices.ladder import runs
from flowveil._matrices.read import read_noisy
from flowveil._matrices.tiles import make_tile_grid
from flowveil._matrices.workloads import PLACEMENTS, SIZES, answer_by_place, answer_queries, make_workload, mre
from flowveil._options import parse_bbox, parse_whole
from flowveil._reading import read_marginals
from flowveil._trips import reopen_trips

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from flowveil._arrays import FloatArray
    from flowveil._matrices.release import NoisyRelease
    from flowveil._matrices.workloads import Workload
    from flowveil._trips import TripsLike

_ENDS = {("origin", "destination"): "both", ("origin",): "origin", ("destination",): "destination"}


def query_errors(
    release: str | Path,
    trips: TripsLike,
    *,
    queries: int = 300,
    seed: int = 0,
    stops: str | Sequence[str] = (),
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
) -> dict[str, dict[str, float | None]]:
    """Return for each workload the mean relative error in percent, and what it hides; the figures are private.

    Workloads are queries of any size, and of 1, 5 and 10 % of each side, placed uniformly and around random trips. They
    are the same for the same seed and trips. stops: columns of stops, if the release has any. All trips count as true,
    also those that a bound left out.
    columns, where: of the trips, unless the audit file beside the release tells.

    >>> list(fv.query_errors("noisy", "trips.parquet", queries=10))[:3]
    ['random', '1% uniform', '1% records']
    """
    queries = parse_whole(queries, "queries", "give a whole number from 1 to 1,000,000", 1, 1_000_000)
    seed = parse_whole(seed, "seed", "a seed is a whole number, 0 or more", 0)
    written = read_noisy(release)
    options = written.manifest["options"]
    check_sums(written.manifest)
    story = remembered(read_audit(release))
    trips = reopen_trips(trips, story, columns, where)
    places = options.get("places", ["origin", "destination"])
    ends = _ENDS.get(tuple(place for place in places if not place.startswith("stop ")))
    if ends is None:
        raise InputError("errors of frames cannot be measured", "frames can be asked with flowveil query")
    points = build_matrix(trips, options["bbox"], options.get("cells", DEFAULT_CELLS), ends=ends, stops=stops).points
    if len(points.lengths) != 2 * len(places):
        raise InputError("the release has stops", "name their columns, two for each stop")
    answer = _answers(written, points.lengths[0])
    kinds = [(size, place) for size in SIZES for place in PLACEMENTS if size != "random" or place == PLACEMENTS[0]]
    asked = [make_workload(points, *kind, queries, seed) for kind in kinds]
    return {workload.name: mre(workload, answer(workload)) for workload in asked}


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
