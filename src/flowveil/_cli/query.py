"""flowveil query."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from flowveil._cli import options
from flowveil._cli.figures import print_errors
from flowveil._cli.terminal import print_json, progress, show, warn
from flowveil._errors import InputError
from flowveil._kinds import query as ask
from flowveil._matrices import query_errors

_BOX = "W,S,E,N"


def query(
    folder: options.ReleaseFolder,
    origin_bbox: Annotated[str | None, typer.Option(metavar=_BOX, help="Trips that start here.")] = None,
    destination_bbox: Annotated[str | None, typer.Option(metavar=_BOX, help="Trips that end here.")] = None,
    stop_bbox: Annotated[
        list[str] | None, typer.Option(metavar=_BOX, help="Trips that stop here; once for each stop, in order.")
    ] = None,
    place_bbox: Annotated[
        list[str] | None, typer.Option(metavar=f"NAME={_BOX}", help="A place of the manifest, e.g. a frame of the day.")
    ] = None,
    origin_zones: Annotated[
        str | None, typer.Option(metavar="ID,ID", help="Trips that start in these zones, of a release about zones.")
    ] = None,
    destination_zones: Annotated[
        str | None, typer.Option(metavar="ID,ID", help="Trips that end in these zones.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Trips of this step of time or group, e.g. time=8; once for each."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="INPUT", help="In place of one query: errors of many, by the true trips. Private."
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Estimate the trips between boxes from a release with noise, with a range for the truth."""
    if against is not None:
        if any((origin_bbox, destination_bbox, stop_bbox, place_bbox, origin_zones, destination_zones, at)):
            raise InputError("--against measures many queries, not one", "leave out the boxes, or --against")
        _measure(folder, against, as_json=as_json)
        return
    answer = ask(
        folder,
        origin=origin_bbox,
        destination=destination_bbox,
        stops=stop_bbox,
        places=place_bbox,
        origin_zones=origin_zones,
        destination_zones=destination_zones,
        at=at,
    )
    if as_json:
        print_json(asdict(answer) | {"warning": answer.warning})
        return
    if not answer.boxes:
        typer.echo(answer.warning)
        return
    typer.echo(f"about {show(answer.estimate)} trips, likely {show(answer.likely_low)} to {show(answer.likely_high)}")
    typer.echo(f"surely between {show(answer.low)} and {show(answer.high)}, but for noise beyond 95 %")
    typer.echo(f"noise {show(answer.noise)}, unevenness inside boxes {show(answer.unevenness)} (standard deviations)")
    typer.echo(f"{answer.partial:.0%} of the answer is from boxes that the query covers in part.")
    typer.echo(answer.meaning)
    if answer.warning is not None:
        warn(answer.warning)


def _measure(folder: Path, against: str, *, as_json: bool) -> None:
    with progress() as doing:
        doing("asking many queries")
        options.tell_input(folder, None, None)
        rows = query_errors(folder, against)
    if as_json:
        print_json(rows)
        return
    print_errors(rows)
