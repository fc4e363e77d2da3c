"""flowveil reconstruct."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import flowveil as fv
from flowveil._cli.options import OverwriteFile, ReleaseFolder
from flowveil._cli.tables import check_table, write_table
from flowveil._cli.terminal import count, note
from flowveil._folder import SIDES
from flowveil._reading import SPREADS

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN = 10


def reconstruct(
    release: ReleaseFolder,
    zones: Annotated[str, typer.Option("--zones", metavar="FILE", help="Your zones: GeoParquet or GeoJSON.")],
    spread: Annotated[
        str, typer.Option("--spread", metavar="NAME", help=f"How flows are spread: {' or '.join(SPREADS)}.")
    ] = SPREADS[0],
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="FILE", help="Places with a column `weight`, that trips go with."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write all flows to a .parquet or .csv file.")
    ] = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Estimate flows between your own zones from a release alone."""
    if output is not None:
        check_table(output, overwrite=overwrite)
    estimate = fv.reconstruct(release, zones, spread=spread, weights=weights)
    between = f"{estimate.placed:,.0f} of {estimate.published:,} published trips lie between the zones"
    for text in (f"{between} ({estimate.share:.2%})", *estimate.notes):
        note(text)
    if "left_out" in estimate.flows.column_names:
        missing = float(estimate.flows["left_out"].to_numpy().sum())
        note(
            f"left_out is an estimate of trips that were left out, {missing:,.0f} in all: for each pair as likely too "
            "high as too low. It does not add up: where such trips are rare, no pair has one"
        )
    if output is None:
        typer.echo(" ".join(estimate.flows.column_names))
        busiest = estimate.flows.sort_by([("trips", "descending")]).slice(0, _SHOWN)
        for row in busiest.to_pylist():
            shown = (f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values())
            typer.echo(" ".join(shown) + _names(row, estimate.names))
        return
    write_table(estimate.flows, output, overwrite=overwrite)
    note(f"wrote {count(estimate.flows.num_rows, 'flow')} to {output}")


def _names(row: Mapping[str, object], names: Mapping[str, str]) -> str:
    """Return what the zones of a flow are called, to stand beside their ids."""
    ends = [str(row[side]) for side in SIDES]
    return "  " + " -> ".join(names.get(zone, zone) for zone in ends) if any(zone in names for zone in ends) else ""
