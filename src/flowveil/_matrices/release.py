"""Releases with noise: boxes of a grid, or flows between areas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from flowveil._errors import InputError, PromiseError
from flowveil._folder import AUDIT
from flowveil._matrices.boxes import non_negative
from flowveil._matrices.consistency import reconcile
from flowveil._matrices.counting import CountingOptions, choose_noise, count_for_noise
from flowveil._matrices.laplace import laplace
from flowveil._matrices.manifest import CELLS_FORMAT, FLOWS_FORMAT, make_manifest
from flowveil._matrices.methods import DEFAULT_METHOD, LAPLACE, MOSAIC, TILE_METHODS, box_method
from flowveil._matrices.mosaic import noisy_mosaic
from flowveil._matrices.points import Matrix
from flowveil._matrices.tiles import TileGrid
from flowveil._methods import find_method
from flowveil._noise import Ledger
from flowveil._options import parse_epsilon, spelled
from flowveil._release.audit import fingerprint
from flowveil._release.tables import area_ids, areas_of_nodes
from flowveil._release.write import write_folder
from flowveil._report import make_inline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._matrices.boxes import Boxes
    from flowveil._matrices.laplace import Listed
    from flowveil._matrices.mosaic import Leaves

CELLS, FLOWS, AREAS, MANIFEST = "cells.parquet", "flows.parquet", "areas.parquet", "manifest.json"
AUDIT_FORMAT = "flowveil-audit/1"
_CONSISTENT = "consistent"  # option and column


@dataclass(frozen=True, eq=False)
class NoisyRelease:
    """Tables with noisy counts and the manifest, safe to publish; `audit` is private."""

    tables: dict[str, pa.Table]  # by file name
    manifest: dict[str, Any]
    audit: dict[str, Any]
    boxes: Boxes | Leaves | Listed
    ledger: Ledger

    def write(self, path: str | Path, *, overwrite: bool = False, report: bool = False) -> Path:
        """Write the folder and, beside it, the private audit file; all of it or nothing. report: with report.html."""
        files = {**self.tables, MANIFEST: self.manifest}
        return write_folder(path, files, {AUDIT: self.audit}, overwrite=overwrite, report=report)

    def _repr_html_(self) -> str:
        """Show the map in a notebook."""
        return make_inline({**self.tables, MANIFEST: self.manifest})


def add_noise(
    matrix: Any,
    method: str | None = None,
    epsilon: float = 1.0,
    *,
    options: Mapping[str, Any] | Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **counting: Unpack[CountingOptions],
) -> NoisyRelease:
    """Release a matrix with noise, so that the promise of the manifest holds, or raise.

    matrix: what `build_matrix`, `build_tile_matrix` or `build_frame_matrix` returns, or trips that the one which the
    method needs is to count: then `counting` are its options, and columns, where and query as for `read_trips`.
    method: a name that `methods()` lists with the promise differential privacy (default daf-entropy; noisy-mosaic for
    a matrix of tiles). epsilon: how much one unit may change; every mechanism is run at epsilon over the trips that
    one unit can contribute. options: options of the method by name. tell: hears what is being done.
    """
    epsilon = parse_epsilon(epsilon)
    if not isinstance(matrix, Matrix):
        method = choose_noise(method, epsilon) or MOSAIC
        find_method(method).parse_options(options)
        tell("reading trips")
        matrix = count_for_noise(matrix, method, counting)
    elif counting:
        given = spelled(next(iter(counting)))
        raise InputError(f"{given} was given, but the trips are counted", "leave it out, or give trips to add_noise")
    tiles = isinstance(matrix.grid, TileGrid)
    name = find_method(method or (MOSAIC if tiles else DEFAULT_METHOD)).name
    if (name in TILE_METHODS) != tiles or (name == MOSAIC and matrix.grid.bbox is None):
        raise InputError(
            f"{name} does not go with this matrix",
            f"{MOSAIC} and {LAPLACE} take build_tile_matrix ({MOSAIC} without zones), the other methods build_matrix",
        )
    tell(f"adding noise with {name}")
    typed: dict[str, Any] = dict(find_method(name).parse_options(options))
    reconciled = bool(typed.get(_CONSISTENT))
    most = matrix.max_trips_per_person
    ledger = Ledger(_share(epsilon, most))
    boxes: Boxes | Leaves | Listed
    run = {option: value for option, value in typed.items() if option != _CONSISTENT}
    if isinstance(matrix.grid, TileGrid) and name == LAPLACE:
        boxes = listed = laplace(matrix.points, ledger, **run)
        known = _noise_columns(listed.counts, listed.charged, ledger, None)
        nodes = matrix.grid.ladder.leaf[listed.cells]
        tables, form = _area_tables(matrix.grid, nodes, listed.counts, known), FLOWS_FORMAT
    elif isinstance(matrix.grid, TileGrid):
        boxes = leaves = noisy_mosaic(matrix.points, ledger, matrix.grid.ladder, **run)
        known = _noise_columns(leaves.counts, leaves.charged, ledger, leaves.pairs.node if reconciled else None)
        nodes = matrix.grid.ladder.nodes(leaves.pairs.level, leaves.pairs.area)
        tables, form = _area_tables(matrix.grid, nodes, leaves.counts, known), FLOWS_FORMAT
    else:
        boxes = cells = box_method(name)(matrix.points, ledger, **run)
        known = _noise_columns(cells.counts, cells.charged, ledger, cells.node if reconciled else None)
        tables, form = {CELLS: _cells_table(cells, known)}, CELLS_FORMAT
    if ledger.largest_path() * most > epsilon:
        raise PromiseError(f"{name} spent more than epsilon = {epsilon:g}", "please report this bug")
    manifest = make_manifest(matrix, name, epsilon, ledger, typed, form)
    return NoisyRelease(tables, manifest, _audit(matrix, ledger), boxes, ledger)


def _share(epsilon: float, most: int) -> float:
    """Return epsilon over the trips of a unit, rounded down until it fits."""
    share = epsilon / most
    while share * most > epsilon:
        share = math.nextafter(share, 0)
    return share


def _noise_columns(counts: IntArray, charged: IntArray, ledger: Ledger, nodes: IntArray | None) -> dict[str, pa.Array]:
    """Return what stands beside noisy counts: a projection, the scale of the noise, on request one more estimate."""
    columns = {
        "nonnegative": pa.array(non_negative(counts), pa.int64()),
        "scale": pa.array(ledger.scales(charged), pa.float64()),
    }
    if nodes is not None:
        columns[_CONSISTENT] = pa.array(reconcile(ledger, nodes), pa.float64())
    return columns


def _cells_table(boxes: Boxes, known: dict[str, pa.Array]) -> pa.Table:
    """Return one row a box, ordered by place: its edges in cells, its noisy count and what is known of it."""
    columns: dict[str, Any] = {}
    for axis in range(boxes.low.shape[1]):
        columns[f"low_{axis}"] = pa.array(boxes.low[:, axis], pa.int64())
        columns[f"high_{axis}"] = pa.array(boxes.high[:, axis], pa.int64())
    columns["count"] = pa.array(boxes.counts, pa.int64())
    return pa.table(columns | known)


def _area_tables(grid: TileGrid, nodes: IntArray, counts: IntArray, known: dict[str, pa.Array]) -> dict[str, pa.Table]:
    """Return flows between nodes of the tree (one row a flow) with noisy trips, and their areas as in any release."""
    flows = pa.table(
        {
            "origin": pa.array(area_ids(grid.places, grid.tree, nodes[:, 0]), pa.string()),
            "destination": pa.array(area_ids(grid.places, grid.tree, nodes[:, 1]), pa.string()),
            "trips": pa.array(counts, pa.int64()),
        }
        | known
    ).sort_by([("origin", "ascending"), ("destination", "ascending")])
    return {FLOWS: flows, AREAS: areas_of_nodes(grid.places, (grid.tree, nodes[:, 0]), (grid.tree, nodes[:, 1]))}


def _audit(matrix: Matrix, ledger: Ledger) -> dict[str, Any]:
    origin = matrix.origin
    return {
        "format": AUDIT_FORMAT,
        "input": {
            "columns": origin.columns,
            "where": origin.where,
            "zones": origin.zones,
            "unit": matrix.unit,
            "fingerprint": fingerprint(origin.source),
        },
        "rows": origin.rows,
        "dropped": origin.dropped,
        "outside_bbox": origin.outside_bbox,
        "beyond_max_trips_per_person": origin.beyond_bound,
        "trips": int(matrix.points.counts.sum()),
        "ledger": [
            {"spend": spend.name, "epsilon_per_trip": spend.epsilon, "nodes": spend.nodes} for spend in ledger.spends
        ],
    }
