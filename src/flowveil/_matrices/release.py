"""Releases with noise: boxes of a grid, or flows between areas."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from flowveil._engine import OUT_OF_GROUPS, OUT_OF_PERIOD, fingerprint
from flowveil._errors import InputError, PromiseError
from flowveil._folder import AREAS, AUDIT, CELLS, FLOWS, MARGINALS, Audit, Files, Kind, check_target, write_folder
from flowveil._matrices.bounds import choose_bound
from flowveil._matrices.consistency import reconcile
from flowveil._matrices.counting import NoiseKeywords, choose_noise, count_for_noise
from flowveil._matrices.flow_tables import count_flows
from flowveil._matrices.grids import DEFAULT_MAX_CELLS
from flowveil._matrices.manifest import clock, make_manifest, protects
from flowveil._matrices.methods import DEFAULT_METHOD, LAPLACE, MOSAIC, TILE_METHODS, box_method
from flowveil._matrices.points import Matrix
from flowveil._matrices.settling import non_negative
from flowveil._matrices.tiles import TileGrid
from flowveil._methods import find_method
from flowveil._noise import Ledger, WindowLedger, variance
from flowveil._options import DescriptionOptions, parse_description, parse_epsilon, spelled, weak_epsilon
from flowveil._reading import Readable
from flowveil._register import NOISE, NewEntry, check_account, enter, look
from flowveil._report import cells_content, choose_report, make_inline, noisy_flows_content

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from flowveil._arrays import Column, FloatArray, IntArray
    from flowveil._folder import Manifest
    from flowveil._matrices.boxes import Boxes
    from flowveil._matrices.laplace import Listed
    from flowveil._matrices.marginals import PlaceBoxes
    from flowveil._matrices.mosaic import Leaves
    from flowveil._methods import Value
    from flowveil._places import ZonesLike
    from flowveil._report import Content
    from flowveil._trips import TripsLike

AUDIT_FORMAT = "flowveil-audit/1"
_CONSISTENT = "consistent"  # option and column


@dataclass(frozen=True, eq=False, repr=False)
class NoisyRelease(Readable):
    """Tables with noisy counts and the manifest: these are safe to publish.

    >>> noisy = fv.read_release("noisy")
    >>> noisy.epsilon, noisy.cells.column_names
    (1.0, ['low_0', 'high_0', 'low_1', 'high_1', 'low_2', 'high_2', 'low_3', 'high_3', 'count', 'nonnegative', 'scale'])
    """

    tables: dict[str, pa.Table]  # by file name
    manifest: Manifest
    audit: Audit = field(default_factory=Audit)  # private; empty in a release that was read back
    boxes: Boxes | Leaves | Listed | None = None  # None in a release that was read back
    ledger: Ledger | None = None  # what a unit paid for what; None in a release that was read back
    entry: NewEntry | None = None  # private: what writing enters in a register

    def __repr__(self) -> str:
        return f"<NoisyRelease: {len(self.counts):,} counts by {self.manifest.get('method')}>"

    def write(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        report: bool = False,
        ground: str | None = None,
        context: ZonesLike | None = None,
    ) -> Path:
        """Write the folder and, beside it, the private audit file; all of it or nothing. report: with report.html.

        path: the folder. overwrite: replace a release that is there.
        ground, context: what the report is drawn on, as for `report`.

        >>> matrix = fv.build_matrix("trips.parquet", fv.synthetic.CITY_BBOX, cells=20)
        >>> folder = fv.add_noise(matrix, "uniform").write("one-box")
        >>> sorted(path.name for path in folder.iterdir())
        ['cells.parquet', 'manifest.json']
        """
        if self.ledger is None:
            raise InputError("a release that was read back cannot be written again", "copy its folder")
        shown = choose_report(self._show, report=report, ground=ground, context=context)
        check_target(path, overwrite=overwrite)  # before it is entered
        with enter(self.entry, path) as entered:
            private = {AUDIT: {**self.audit, **entered}}
            return write_folder(path, self.files, private, overwrite=overwrite, report=shown)

    def _repr_html_(self) -> str:
        """Show the map in a notebook."""
        return make_inline(self._show, self.files)

    @property
    def files(self) -> Files:
        """The kind, tables and manifest: what the folder holds, but for its report."""
        kind = Kind.NOISY_FLOWS if FLOWS in self.tables else Kind.CELLS
        return Files(kind, self.tables, self.manifest)

    @property
    def _show(self) -> Callable[[Files], Content]:
        return noisy_flows_content if FLOWS in self.tables else cells_content

    @property
    def table(self) -> pa.Table:
        """The table with the counts: flows or cells."""
        return self.tables[FLOWS if FLOWS in self.tables else CELLS]

    @property
    def flows(self) -> pa.Table:
        """The flows between areas; raises InputError for boxes."""
        return self._table(FLOWS)

    @property
    def areas(self) -> pa.Table:
        """The areas of the flows; raises InputError for boxes."""
        return self._table(AREAS)

    @property
    def cells(self) -> pa.Table:
        """The boxes; raises InputError for flows between areas."""
        return self._table(CELLS)

    @property
    def marginals(self) -> pa.Table:
        """Noisy counts of single places, by which boxes are spread; raises InputError if the release has none."""
        return self._table(MARGINALS)

    def _table(self, name: str) -> pa.Table:
        if name not in self.tables:
            raise InputError(f"this release has no {name}", f"it has {', '.join(self.tables)}")
        return self.tables[name]

    @property
    def epsilon(self) -> float:
        """The budget for one unit."""
        return float(self.manifest["promise"]["epsilon"])

    @property
    def trips_of_a_unit(self) -> int:
        """How many trips one unit contributes at most."""
        return int(self.manifest["promise"]["max_trips_per_person"] or 1)

    @property
    def positive_only(self) -> bool:
        """Whether counts below one were left out after the noise."""
        return bool(self.manifest.get("method") == LAPLACE)

    @property
    def counts(self) -> IntArray:
        """The noisy counts."""
        return np.asarray(self.table["trips" if FLOWS in self.tables else "count"].to_numpy(), np.int64)

    @property
    def nonnegative(self) -> IntArray:
        """The counts without negative ones, with the same sum."""
        return np.asarray(self.table["nonnegative"].to_numpy(), np.int64)

    @property
    def scales(self) -> FloatArray:
        """The scale of the noise of each count."""
        return np.asarray(self.table["scale"].to_numpy(), np.float64)

    def corners(self) -> tuple[IntArray, IntArray]:
        """Return the lower and upper edges of the boxes of cells.

        >>> low, high = fv.read_release("noisy").corners()
        >>> int(low.min()), int(high.max())
        (0, 20)
        """
        axes = range(2 * len(self.manifest["options"]["places"]))
        low, high = (
            np.column_stack([np.asarray(self.table[f"{end}_{axis}"].to_numpy(), np.int64) for axis in axes])
            for end in ("low", "high")
        )
        return low, high


def add_noise(
    matrix: Matrix | TripsLike,
    method: str | None = None,
    epsilon: float = 1.0,
    *,
    options: Mapping[str, Value] | Sequence[str] | None = None,
    register: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **counting: Unpack[NoiseKeywords],
) -> NoisyRelease:
    """Release a matrix with noise, so that the promise of the manifest holds, or raise.

    matrix: what `build_matrix`, `build_tile_matrix` or `build_frame_matrix` returns, or trips that the one which the
    method needs is to count: then `counting` are its options, and columns, where and query as for `read_trips`.
    method: a name that `methods()` lists with the promise differential privacy (default daf-entropy; noisy-mosaic for
    a matrix of tiles). epsilon: how much one unit may change; every mechanism is run at epsilon over the trips that
    one unit can contribute. options: options of the method by name. tell: hears what is being done.
    max_trips_per_person: may be "auto" here: chosen privately, for a twentieth of epsilon, from public numbers.
    register: a private file that adds up the epsilons of all releases of a source, and may have a budget for them;
    `write` enters this one.
    title, period, publisher, license, contact, unit_label: what is published with it, as for `anonymize`.

    >>> matrix = fv.build_matrix("trips.parquet", fv.synthetic.CITY_BBOX, cells=20)
    >>> release = fv.add_noise(matrix, "uniform", epsilon=0.5)
    >>> release.manifest["promise"]["epsilon"], len(release.counts)
    (0.5, 1)
    """
    epsilon = parse_epsilon(epsilon)
    unit_ledger = Ledger(epsilon)  # of what is protected: a trip, a person, or their trips of some time
    given: dict[str, Any] = dict(counting)  # Any: of NoiseKeywords
    described = {name: given.pop(name) for name in DescriptionOptions.__annotations__ if name in given}
    parse_description(described, has_unit=True)
    if not isinstance(matrix, Matrix):
        method = choose_noise(method, epsilon) or MOSAIC
        find_method(method).parse_options(options)
        tell("reading trips")
        if "period" in described:
            given["period"] = described["period"]
        matrix = count_for_noise(matrix, method, given, partial(choose_bound, unit_ledger))
    elif given:
        option = spelled(next(iter(given)))
        raise InputError(f"{option} was given, but the trips are counted", "leave it out, or give trips to add_noise")
    tiles = isinstance(matrix.grid, TileGrid)
    name = find_method(method or (MOSAIC if tiles else DEFAULT_METHOD)).name
    if (name in TILE_METHODS) != tiles:
        raise InputError(
            f"{name} does not go with this matrix",
            f"{MOSAIC} and {LAPLACE} take build_tile_matrix, the other methods build_matrix",
        )
    said = parse_description(described, has_unit=matrix.unit is not None)
    before = None if register is None else _check_register(register, epsilon, matrix)
    tell(f"adding noise with {name}")
    typed = dict(find_method(name).parse_options(options))
    # Any: each method has options of its own, which `parse_options` has checked.
    run: dict[str, Any] = {option: value for option, value in typed.items() if option != _CONSISTENT}
    consistent, most = bool(typed.get(_CONSISTENT)), matrix.max_trips_per_person
    boxes: Boxes | Leaves | Listed
    ledgers: list[Ledger | WindowLedger]
    draws = None
    if isinstance(matrix.grid, TileGrid):
        run.setdefault("max_cells", DEFAULT_MAX_CELLS)
        flowing = count_flows(matrix, name, unit_ledger, run, consistent=consistent)
        boxes, ledgers, draws, tables, kind = (
            flowing.boxes,
            flowing.ledgers,
            flowing.draws,
            flowing.tables,
            Kind.NOISY_FLOWS,
        )
    else:
        ledger = unit_ledger.single_trips(most)
        boxes = cells = box_method(name)(matrix.points, ledger, **run)
        known = _noise_columns(cells.counts, cells.charged, ledger, cells.node if consistent else None)
        tables, kind, ledgers = {CELLS: _cells_table(cells, known)}, Kind.CELLS, [ledger]
        if cells.marginals:
            tables[MARGINALS] = _marginals_table(cells.marginals, matrix.grid.places)
    _check_spent(unit_ledger, ledgers, most, epsilon)
    manifest = make_manifest(matrix, name, unit_ledger, ledgers, typed, kind, said, draws)
    entry = None
    if before is not None:
        entry = replace(before, promise={**manifest["promise"], **clock(matrix)}, period=said.get("period"))
    audit = _audit(matrix, unit_ledger, ledgers, weak_epsilon(epsilon))
    return NoisyRelease(tables, manifest, audit, boxes, unit_ledger, entry)


def _check_spent(unit: Ledger, ledgers: Sequence[Ledger | WindowLedger], most: int, epsilon: float) -> None:
    """Raise unless what a unit paid covers all that was drawn of its trips, and is no more than epsilon."""
    paid = next(spend.epsilon for spend in unit.spends if spend.name == "trips")
    spent = [each.largest_window() if isinstance(each, WindowLedger) else each.largest_path() for each in ledgers]
    if max(spent) * most > paid or unit.largest_path() > epsilon:
        raise PromiseError(f"more than epsilon = {epsilon:g} was spent", "please report this bug")


def _check_register(path: str | Path, epsilon: float, matrix: Matrix) -> NewEntry:
    """Raise if so much more may not be spent; return what will be entered."""
    with look(path) as opened:
        check_account(opened, epsilon, {**protects(matrix), **clock(matrix)})
        return NewEntry(opened.path, opened.last, NOISE, {}, None, int(matrix.points.counts.sum()))


def _noise_columns(counts: IntArray, charged: IntArray, ledger: Ledger, nodes: IntArray | None) -> dict[str, Column]:
    """Return what stands beside noisy counts: none negative, the scale of the noise, on request one more estimate."""
    scales = ledger.scales(charged)
    columns: dict[str, Column] = {
        "nonnegative": pa.array(non_negative(counts, variance(scales)), pa.int64()),
        "scale": pa.array(scales, pa.float64()),
    }
    if nodes is not None:
        columns[_CONSISTENT] = pa.array(reconcile(ledger, nodes), pa.float64())
    return columns


def _cells_table(boxes: Boxes, known: dict[str, Column]) -> pa.Table:
    """Return one row a box, ordered by place: its edges in cells, its noisy count and what is known of it."""
    columns: dict[str, Column] = {}
    for axis in range(boxes.low.shape[1]):
        columns[f"low_{axis}"] = pa.array(boxes.low[:, axis], pa.int64())
        columns[f"high_{axis}"] = pa.array(boxes.high[:, axis], pa.int64())
    columns["count"] = pa.array(boxes.counts, pa.int64())
    return pa.table(columns | known)


def _marginals_table(marginals: Sequence[PlaceBoxes], places: Sequence[str]) -> pa.Table:
    """Return one row a box of a single place, in the order of places: its edges in cells, and its noisy count."""
    parts = []
    for place, boxes in zip(places, marginals, strict=True):
        columns: dict[str, Column] = {"place": pa.array([place] * len(boxes.counts), pa.string())}
        for axis in (0, 1):
            columns[f"low_{axis}"] = pa.array(boxes.low[:, axis], pa.int64())
            columns[f"high_{axis}"] = pa.array(boxes.high[:, axis], pa.int64())
        columns["count"] = pa.array(boxes.counts, pa.int64())
        columns["nonnegative"] = pa.array(boxes.settled, pa.int64())
        columns["scale"] = pa.array(boxes.scales, pa.float64())
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def _left_out(dropped: Mapping[str, int]) -> list[str]:
    """Return what the owner of the trips should look at: rows that the list of steps and groups leaves out."""
    return [
        f"{dropped[reason]:,} rows are left out ({reason}); how many is private"
        for reason in (OUT_OF_PERIOD, OUT_OF_GROUPS)
        if reason in dropped
    ]


def _audit(matrix: Matrix, unit: Ledger, ledgers: Sequence[Ledger | WindowLedger], warning: str | None) -> Audit:
    provenance = matrix.provenance
    of_unit: list[dict[str, str | int | float]] = [
        {"spend": spend.name, "epsilon": spend.epsilon, "nodes": spend.nodes} for spend in unit.spends
    ]
    of_trips: list[dict[str, str | int | float]] = [
        {"spend": spend.name, "epsilon_per_trip": spend.epsilon, "nodes": spend.nodes}
        for ledger in ledgers
        for spend in ledger.spends
    ]
    return {
        "format": AUDIT_FORMAT,
        "input": {
            "columns": provenance.columns,
            "where": provenance.where,
            "reading": provenance.reading.typed(),
            "zones": provenance.zones,
            "places": provenance.places,
            "unit": matrix.unit,
            "fingerprint": fingerprint(provenance.source),
        },
        "rows": provenance.rows,
        "dropped": provenance.dropped,
        "outside_bbox": provenance.outside_bbox,
        "beyond_max_trips_per_person": provenance.beyond_bound,
        "trips": int(matrix.points.counts.sum()),
        "ledger": [*of_unit, *of_trips],
        "notes": [*([] if warning is None else [warning]), *_left_out(provenance.dropped)],
    }
