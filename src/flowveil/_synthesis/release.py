"""Releases of synthetic trajectories: made, written and read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._folder import (
    AUDIT,
    MODEL,
    PLACES,
    SAMPLES,
    Audit,
    Files,
    Kind,
    Manifest,
    check_target,
    read_audit,
    read_files,
    write_folder,
)
from flowveil._reading import Readable
from flowveil._register import enter
from flowveil._report import choose_report, make_inline, synthetic_content
from flowveil._synthesis.divided import box_cells, find_places, root_square
from flowveil._synthesis.parts import STAYS, UNITS

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places import ZonesLike
    from flowveil._register import NewEntry
    from flowveil._synthesis.model import Model
    from flowveil._synthesis.paths import Paths
    from flowveil._trajectories import Grid

_MICROSECONDS = 60_000_000  # of a minute
_TIMES = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticRelease(Readable):
    """Synthetic trajectories, the places and noisy counts they were drawn from, and the manifest: safe to publish.

    >>> release = fv.read_release("synthetic")
    >>> release.samples.column_names, release.places.column_names[-2:]
    (['user', 'time', 'lon', 'lat', 'place'], ['stays', 'scale'])
    """

    tables: dict[str, pa.Table]  # by file name
    manifest: Manifest
    audit: Audit = field(default_factory=Audit)  # private
    entry: NewEntry | None = None  # private: what writing enters in a register

    def __repr__(self) -> str:
        return f"<SyntheticRelease: {self.samples.num_rows:,} synthetic samples>"

    @property
    def samples(self) -> pa.Table:
        """Synthetic samples: user (a number), time, lon, lat, and the place that holds them."""
        return self.tables[SAMPLES]

    @property
    def places(self) -> pa.Table:
        """The squares that the map is divided into, each with the noisy number of users who stay there."""
        return self.tables[PLACES]

    @property
    def model(self) -> pa.Table:
        """The noisy counts that samples were drawn from: part, row, column, count, scale."""
        return self.tables[MODEL]

    @property
    def files(self) -> Files:
        """The kind, tables and manifest: what the folder holds, but for its report."""
        return Files(Kind.SYNTHETIC, self.tables, self.manifest)

    def write(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        report: bool = False,
        ground: str | None = None,
        context: ZonesLike | None = None,
    ) -> Path:
        """Write the folder, safe to publish as a whole, and the private audit file beside it. report: with report.html.

        path: the folder. overwrite: replace a release that is there.
        ground, context: what the report is drawn on, as for `report`.

        >>> folder = fv.read_release("synthetic").write("copied", overwrite=True)
        >>> sorted(path.name for path in folder.iterdir())
        ['manifest.json', 'model.parquet', 'places.parquet', 'samples.parquet']
        """
        check_target(path, overwrite=overwrite)  # before it is entered
        shown = choose_report(synthetic_content, report=report, ground=ground, context=context)
        with enter(self.entry, path) as entered:
            return write_folder(path, self.files, {AUDIT: {**self.audit, **entered}}, overwrite=overwrite, report=shown)

    def _repr_html_(self) -> str:
        """Show the map in a notebook."""
        return make_inline(synthetic_content, self.files)


def read_synthetic(path: str | Path) -> SyntheticRelease:
    """Read a release of synthetic trajectories. It does not check the promise: `verify` does."""
    hint = "name a folder that flowveil trajectories synthesize wrote"
    files = read_files(path, {Kind.SYNTHETIC}, "a release of synthetic trajectories", hint)
    return SyntheticRelease(files.tables, files.manifest, read_audit(path))


def make_tables(model: Model, paths: Paths) -> dict[str, pa.Table]:
    """Return the files of a release."""
    place = find_places(model.places, root_square(model.grid), paths.x, paths.y)
    lon, lat = _middles(model.grid, paths.x, paths.y)
    samples = {
        "user": pa.array(paths.user, pa.int64()),
        "time": pa.array(paths.minute * _MICROSECONDS, pa.int64()).cast(_TIMES),
        "lon": pa.array(lon, pa.float64()),
        "lat": pa.array(lat, pa.float64()),
        "place": pa.array(place, pa.int64()),
    }
    return {SAMPLES: pa.table(samples), PLACES: _places_table(model), MODEL: _model_table(model)}


def _middles(grid: Grid, x: IntArray, y: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the middles of cells in degrees, each computed once, and never outside of the box."""
    west, south, east, north = grid.bbox
    columns, of_x = np.unique(x, return_inverse=True)
    rows, of_y = np.unique(y, return_inverse=True)
    lon = np.clip((grid.longitudes(columns) + grid.longitudes(columns + 1)) / 2, west, east)
    lat = np.clip((grid.latitudes(rows) + grid.latitudes(rows + 1)) / 2, south, north)
    return lon[of_x.ravel()], lat[of_y.ravel()]


def _places_table(model: Model) -> pa.Table:
    """Return the places: corners, cut off where the cells of the box end, and the noisy number of users who stay."""
    places, grid = model.places, model.grid
    _, right, _, top = box_cells(grid)
    each = UNITS // STAYS
    columns = {
        "place": pa.array(np.arange(len(places)), pa.int64()),
        "lon0": pa.array(grid.longitudes(places.x), pa.float64()),
        "lat0": pa.array(grid.latitudes(places.y), pa.float64()),
        "lon1": pa.array(grid.longitudes(np.minimum(places.x + places.edge, right + 1)), pa.float64()),
        "lat1": pa.array(grid.latitudes(np.minimum(places.y + places.edge, top + 1)), pa.float64()),
        "block": pa.array(model.block, pa.int64()),
        "stays": pa.array(np.rint(model.counts["stays"][:, 0] / each).astype(np.int64), pa.int64()),
        "scale": pa.array(np.full(len(places), model.scales["stays"] / each), pa.float64()),
    }
    return pa.table(columns)


def _model_table(model: Model) -> pa.Table:
    """Return every noisy count: of which part, in which row and column, and the scale of its noise."""
    names: list[str] = []
    numbers: list[IntArray] = []
    scales: list[float] = []
    for part, counts in model.counts.items():
        row, column = np.divmod(np.arange(counts.size), counts.shape[1])
        names += [part] * counts.size
        numbers.append(np.stack([row, column, counts.ravel()]))
        scales += [model.scales[part]] * counts.size
    row, column, count = np.concatenate(numbers, axis=1)
    return pa.table(
        {
            "part": pa.array(names, pa.string()),
            "row": pa.array(row, pa.int64()),
            "column": pa.array(column, pa.int64()),
            "count": pa.array(count, pa.int64()),
            "scale": pa.array(scales, pa.float64()),
        }
    )
