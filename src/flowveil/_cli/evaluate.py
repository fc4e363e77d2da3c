"""flowveil evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.figures import print_answers, print_figures
from flowveil._cli.options import WHOLE, number
from flowveil._cli.terminal import print_json, progress
from flowveil._folder import read_manifest
from flowveil._options import parse_k

if TYPE_CHECKING:
    from flowveil._folder import Json


@options.takes(options.WrittenOptions)
def evaluate(
    written: options.WrittenOptions,
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
    tiles: Annotated[
        str | None, typer.Option(help="Count tiles of the tree (the default), or all tiles of an area: tree or all.")
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Also a row for each step of time and group.")] = False,
    stops: Annotated[str | None, typer.Option(metavar="LON,LAT,...", help="Of noise: columns of stops.")] = None,
    frames: Annotated[str | None, typer.Option(metavar="NAME=H-H,...", help="Of noise: frames of the day.")] = None,
    timezone: Annotated[str | None, typer.Option(help="Whose clock frames and paths go by (default UTC).")] = None,
    questions: Annotated[
        bool,
        typer.Option("--questions", help="In place of metrics: what people ask, before and after, about --zones."),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure what a release of any kind lost against the input it was made from. The figures are private."""
    kind, _ = read_manifest(folder)
    with progress() as doing:
        doing("measuring")
        options.tell_input(folder, columns, where, written)
        trips, columns, where = options.open_against(folder, (against, query), columns, where, written)
        figures: dict[str, Json] = fv.evaluate(
            folder,
            trips or against,
            zones=zones,
            columns=columns,
            where=where,
            unit=unit,
            weight=weight,
            k=k,
            k_weight=k_weight,
            tiles=tiles,
            stops=stops,
            frames=frames,
            timezone=timezone,
            each=each,
            questions=questions,
        )
    if as_json:
        print_json(figures)
        return
    if questions:
        print_answers(figures)
        return
    print_figures(kind, figures)
