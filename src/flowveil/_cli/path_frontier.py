"""flowveil trajectories frontier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowveil import trajectories as paths
from flowveil._charts import path_frontier_svg, path_frontier_text
from flowveil._cli.options import WHOLE, AsJson, OverwriteFile, number, takes
from flowveil._cli.terminal import count, note, print_json, progress
from flowveil._cli.trajectories import CutOptions, SampleOptions
from flowveil._errors import InputError
from flowveil._folder import check_file, private_file
from flowveil._options import Keywords, parse_support, parse_users
from flowveil._trajectories import DEFAULT_POINTS, GATHER, parse_frontier, parse_path_points


@takes(SampleOptions, CutOptions)
def frontier(
    samples: SampleOptions,
    cut: CutOptions,
    k: Annotated[int, number("-k", parse=parse_users, metavar=WHOLE, help="Fewest users who share a trajectory.")] = 10,
    method: Annotated[str, typer.Option(help="gather, or glove: its groups with complete support.")] = GATHER,
    points: Annotated[
        int, number(parse=parse_path_points, metavar=WHOLE, help="How many prices to try.")
    ] = DEFAULT_POINTS,
    variant: Annotated[str, typer.Option(help="strict or absorb; of glove loose, too.")] = "strict",
    max_extent: Annotated[str | None, typer.Option(help="Suppress samples with a larger box, e.g. 15km.")] = None,
    max_duration: Annotated[str | None, typer.Option(help="Suppress samples that last longer, e.g. 6h.")] = None,
    min_support: Annotated[
        int, number(parse=parse_support, metavar=WHOLE, help="Fewest members seen in a sample, where more than k.")
    ] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="SVG", help="Draw it into this file.")
    ] = None,
    overwrite: OverwriteFile = False,
    as_json: AsJson = False,
) -> None:
    """Show what each share of left-out samples would buy in extent and duration. The figures are private."""
    if output is not None:
        if output.suffix.lower() != ".svg":
            raise InputError(f"{str(output)!r} is not an SVG file to write", "name it like -o frontier.svg")
        check_file(output, overwrite=overwrite)
    keywords: Keywords = {
        "method": method,
        "variant": variant,
        "max_extent": max_extent,
        "max_duration": max_duration,
        "min_support": min_support,
        "memory": samples.memory,
    }
    parse_frontier(k, **keywords)
    with progress() as doing:
        doing("reading")
        curve = paths.frontier(samples.read(cut), k, points=points, tell=doing, **keywords)
    if output is not None:
        with private_file(output, overwrite=overwrite) as new:
            new.write_text(path_frontier_svg(curve.table, method), encoding="utf-8")
    if empty := points - len(curve):
        note(f"of {count(points, 'price')}, {empty:,} left out: no sample can be published at so low a price")
    if as_json:
        print_json(curve.table.to_pylist())
        return
    typer.echo(
        f"{'price':>8} {'left out':>9} {'extent km':>10} {'minutes':>8} {'users':>9} {'groups':>8} {'samples':>9}"
    )
    for row in curve.table.to_pylist():
        typer.echo(
            f"{row['price']:8.3g} {row['suppressed']:9.2%} {row['extent'] / 1000:10.3f} {row['duration']:8.1f}"
            f" {row['users']:9,} {row['groups']:8,} {row['samples']:9,}"
        )
    typer.echo()
    typer.echo(path_frontier_text(curve.table))
    if len(curve):
        typer.echo("Pick a point: --price PRICE, or --max-suppression SHARE, with flowveil trajectories anonymize.")
