"""flowveil evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.options import WHOLE, number
from flowveil._cli.terminal import note, print_json, progress, show
from flowveil._measure import MEANINGS
from flowveil._options import parse_k

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json


def evaluate(
    folder: options.ReleaseFolder,
    against: options.Against,
    query: options.Query = None,
    zones: options.ZonesFile = None,
    columns: options.Columns = None,
    where: options.Where = None,
    unit: Annotated[str | None, typer.Option(help="Column of persons, if the release has none.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of people represented, if the release has none.")] = None,
    k: Annotated[
        int | None,
        number("-k", parse=parse_k, metavar=WHOLE, help="Persons to hold flows against (default: as promised)."),
    ] = None,
    k_weight: options.KWeight = None,
    tiles: Annotated[str, typer.Option(help="Count tiles of the tree, or all tiles of an area: tree or all.")] = "tree",
    as_json: options.AsJson = False,
) -> None:
    """Measure what a release lost against the trips it was made from. The figures are private."""
    with progress() as doing:
        doing("measuring")
        options.tell_input(folder, columns, where)
        figures: dict[str, Json] = fv.evaluate(
            folder,
            options.with_query(against, query) or against,
            zones=zones,
            columns=columns,
            where=where,
            unit=unit,
            weight=weight,
            k=k,
            k_weight=k_weight,
            tiles=tiles,
        )
    if figures["suppressed"] < 0:
        note("more trips are published than INPUT has: these are not the trips of the release, and figures mislead")
    if as_json:
        print_json(figures)
        return
    population = figures["population"]
    _print({name: value for name, value in figures.items() if name != "population" or value is None})
    if population is not None:
        typer.echo("\nThe same on the people that trips stand for:")
        _print(population)
    typer.echo("These figures are computed from the true trips: keep them private.", err=True)


def _print(figures: Mapping[str, Json]) -> None:
    for name, value in figures.items():
        text = (
            ", ".join(f"{part} {show(number)}" for part, number in value.items())
            if isinstance(value, dict)
            else show(value)
        )
        typer.echo(f"{name:18} {text:40} {MEANINGS[name]}".rstrip())
