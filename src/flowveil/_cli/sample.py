"""flowveil sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli.options import OverwriteFile, ReleaseFolder
from flowveil._cli.tables import check_table, write_table
from flowveil._cli.terminal import count, note


def sample(
    release: ReleaseFolder,
    trips: Annotated[int, typer.Option("--trips", "-n", metavar="N", help="How many trips to draw.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File to write: .csv or .parquet by its ending.")
    ],
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Draw the same trips again; by default other ones.")
    ] = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Draw synthetic trips from a release, for models and teaching: nobody made them."""
    check_table(output, overwrite=overwrite)
    drawn = fv.sample(release, trips, seed=seed)
    write_table(drawn, output, overwrite=overwrite)
    note("the trips are synthetic: drawn from the release, and made by nobody")
    typer.echo(f"wrote {count(drawn.num_rows, 'synthetic trip')} to {output}")
