"""flowveil frontier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._charts import frontier_svg, frontier_text
from flowveil._cli.options import WHOLE, AsJson, DemandOptions, OverwriteFile, TripOptions, number, takes, warn_of_one
from flowveil._cli.terminal import print_json, progress, show
from flowveil._errors import InputError
from flowveil._folder import check_file, private_file
from flowveil._methods import parse_points
from flowveil._release import find_frontier, parse_demand


@takes(TripOptions, DemandOptions)
def frontier(
    trips: TripOptions,
    demand: DemandOptions,
    points: Annotated[int, number(parse=parse_points, metavar=WHOLE, help="How many points to show.")] = 24,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="SVG", help="Draw it into this file.")
    ] = None,
    overwrite: OverwriteFile = False,
    as_json: AsJson = False,
) -> None:
    """Show what each share of left-out trips would buy in precision. The figures are private."""
    if output is not None:
        if output.suffix.lower() != ".svg":
            raise InputError(f"{str(output)!r} is not an SVG file to write", "name it like -o frontier.svg")
        check_file(output, overwrite=overwrite)
    asked = parse_demand(unit=trips.unit, counted_persons=trips.counts == "persons", **demand.keywords())
    find_frontier(asked.method)
    warn_of_one(asked.k, asked.k_weight)
    crowds = asked.method.cluster_options(
        asked.k,
        asked.k_weight,
        engine=trips.engine,
        loss=asked.loss,
        time_hierarchy=trips.time_hierarchy,
        hierarchy=trips.hierarchy,
        max_share=asked.max_share,
    )
    with progress() as doing:
        doing("reading trips")
        flows = trips.flows(doing.rows, **crowds)
        doing(f"following the frontier of {demand.method}")
        curve = fv.frontier(flows, points=points, **demand.keywords())
    if output is not None:
        with private_file(output, overwrite=overwrite) as new:
            new.write_text(frontier_svg(curve.table, demand.method), encoding="utf-8")
    if as_json:
        print_json(curve.table.to_pylist())
        return
    typer.echo(f"{'lambda':>12} {'gbar':>10} {'suppressed':>11} {'flows':>9} {'origins':>9} {'destinations':>13}")
    for row in curve.table.to_pylist():
        typer.echo(
            f"{row['lambda']:12.4g} {show(row['gbar']):>10} {row['suppressed']:11.3%} {row['flows']:9,}"
            f" {row['origin_areas']:9,} {row['destination_areas']:13,}"
        )
    typer.echo()
    typer.echo(frontier_text(curve.table))
    typer.echo("Pick a point: --max-suppression SHARE, or --max-gbar TILES, with flowveil anonymize.")
