"""flowveil verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.terminal import print_json, progress
from flowveil._engine import describe_input


@options.takes(options.WrittenOptions)
def verify(
    written: options.WrittenOptions,
    folder: options.ReleaseFolder,
    against: Annotated[
        str | None, typer.Option("--against", metavar="INPUT", help="The trips; a release with noise needs none.")
    ] = None,
    query: options.Query = None,
    zones: options.ZonesFile = None,
    places: options.PlacesFile = None,
    columns: options.Columns = None,
    where: options.Where = None,
    beside: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Another release of the same data: are the two safe together?")
    ] = None,
    context: options.ContextFile = None,
    sensitive: options.SensitiveFile = None,
    as_json: options.AsJson = False,
) -> None:
    """Check every promise of a release on the trips it was made from; exit 0 only if all hold."""
    with progress() as doing:
        doing("checking every promise")
        trips, columns, where = options.open_against(folder, (against, query), columns, where, written)
        given = {"zones": zones, "places": places, "columns": columns, "where": where}
        result = fv.verify(folder, trips, **given, beside=beside, context=context, sensitive=sensitive)
    if as_json:
        counts = {"flows": result.flows} if isinstance(result, fv.Verification) else {"groups": result.groups}
        told = {"where": result.where, "columns": result.columns}
        print_json({"verified": True, **counts, "checks": list(result.checks), **told})
        return
    for check in result.checks:
        typer.echo(f"  {'--' if check.startswith('not checked') else 'ok'}  {check}")
    for sentence in describe_input(result.where, result.columns, getattr(result, "reading", None)):
        typer.echo(sentence)
    if any(check.startswith("not checked") for check in result.checks):
        typer.echo(f"verified: structure and budget of {folder} hold")
    else:
        typer.echo(f"verified: every promise of {folder} holds")
