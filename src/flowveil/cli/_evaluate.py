"""flowveil evaluate."""

from __future__ import annotations

from typing import Annotated

import typer

import flowveil as fv
from flowveil.cli import _options as options
from flowveil.cli._parse import columns as parse_columns
from flowveil.cli._terminal import print_json, progress, show

_MEANINGS = {
    "gbar": "tiles of both ends, averaged over trips (2 is none lost)",
    "e": "reconstruction loss, 0 to 2",
    "d": "distance of distributions, 0 to 2",
    "suppressed": "share of trips left out",
    "c_dm": "discernibility",
    "c_avg": "mean crowd over k",
    "gdm": "meters from tile centre to area centre",
    "mao": "mean size of origin areas, km2",
    "mad": "mean size of destination areas, km2",
    "flows": "published flows",
    "origin_areas": "areas used as origins",
    "destination_areas": "areas used as destinations",
    "trips": "published trips",
    "min_trips": "fewest trips of a flow",
    "min_persons": "fewest persons of a flow",
    "min_weight": "fewest people represented by a flow",
    "tiles": "how tiles are counted",
}


def evaluate(
    folder: options.ReleaseFolder,
    against: options.Against,
    zones: options.ZonesFile = None,
    columns: options.Columns = None,
    where: options.Where = None,
    tiles: Annotated[str, typer.Option(help="Count tiles of the tree, or all tiles of an area: tree or all.")] = "tree",
    as_json: options.AsJson = False,
) -> None:
    """Measure what a release lost against the trips it was made from. The figures are private."""
    with progress() as doing:
        doing("measuring")
        figures = fv.evaluate(folder, against, zones=zones, columns=parse_columns(columns), where=where, tiles=tiles)
    if as_json:
        print_json(figures)
        return
    for name, value in figures.items():
        text = (
            ", ".join(f"{part} {show(number)}" for part, number in value.items())
            if isinstance(value, dict)
            else show(value)
        )
        typer.echo(f"{name:18} {text:40} {_MEANINGS[name]}".rstrip())
    typer.echo("These figures are computed from the true trips: keep them private.", err=True)
