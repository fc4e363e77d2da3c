"""flowveil reconstruct."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow.csv
import pyarrow.parquet as pq
import typer

import flowveil as fv
from flowveil._cli.options import OverwriteFile, ReleaseFolder
from flowveil._cli.terminal import count, note
from flowveil._errors import InputError
from flowveil._folder import SIDES, check_file, public_file

if TYPE_CHECKING:
    from collections.abc import Mapping

_KINDS = (".parquet", ".csv")
_SHOWN = 10


def reconstruct(
    release: ReleaseFolder,
    zones: Annotated[str, typer.Option("--zones", metavar="FILE", help="Your zones: GeoParquet or GeoJSON.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write all flows to a .parquet or .csv file.")
    ] = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Estimate flows between your own zones from a release alone, by even spreading."""
    if output is not None:
        if output.suffix.lower() not in _KINDS:
            raise InputError(f"{str(output)!r} is not a file to write", "name it like -o flows.parquet or -o flows.csv")
        check_file(output, overwrite=overwrite)
    estimate = fv.reconstruct(release, zones)
    between = f"{estimate.placed:,.0f} of {estimate.published:,} published trips lie between the zones"
    for text in (f"{between} ({estimate.share:.2%})", *estimate.notes):
        note(text)
    if output is None:
        typer.echo(" ".join(estimate.flows.column_names))
        busiest = estimate.flows.sort_by([("trips", "descending")]).slice(0, _SHOWN)
        for row in busiest.to_pylist():
            shown = (f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values())
            typer.echo(" ".join(shown) + _names(row, estimate.names))
        return
    with public_file(output, overwrite=overwrite) as new:
        if output.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(estimate.flows, new)
        else:
            pq.write_table(estimate.flows, new, compression="zstd")
    note(f"wrote {count(estimate.flows.num_rows, 'flow')} to {output}")


def _names(row: Mapping[str, object], names: Mapping[str, str]) -> str:
    """Return what the zones of a flow are called, to stand beside their ids."""
    ends = [str(row[side]) for side in SIDES]
    return "  " + " -> ".join(names.get(zone, zone) for zone in ends) if any(zone in names for zone in ends) else ""
