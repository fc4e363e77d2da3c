"""flowveil query."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from flowveil.cli import _options as options
from flowveil.cli._terminal import print_json, show
from flowveil.matrices import query as ask

_BOX = "W,S,E,N"


def query(
    folder: options.ReleaseFolder,
    origin_bbox: Annotated[str | None, typer.Option(metavar=_BOX, help="Trips that start here.")] = None,
    destination_bbox: Annotated[str | None, typer.Option(metavar=_BOX, help="Trips that end here.")] = None,
    stop_bbox: Annotated[
        list[str] | None, typer.Option(metavar=_BOX, help="Trips that stop here; once for each stop, in order.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the trips between boxes from a release with noise, with an error bar for the noise."""
    stops = dict(enumerate(stop_bbox or [], start=1))
    answer = ask(folder, origin=origin_bbox, destination=destination_bbox, stops=stops)
    if as_json:
        print_json(asdict(answer))
        return
    typer.echo(f"about {show(answer.estimate)} trips (noise: {show(answer.low)} to {show(answer.high)} at 95 %)")
    typer.echo(answer.meaning)
