"""flowveil report."""

from __future__ import annotations

from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.terminal import print_json, progress
from flowveil._errors import InputError
from flowveil._kinds import report_numbers


def report(
    folder: options.ReleaseFolder,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="INPUT", help="Also show what was lost, in DIR.private.html. Private."),
    ] = None,
    query: options.Query = None,
    zones: options.ZonesFile = None,
    columns: options.Columns = None,
    where: options.Where = None,
    ground: options.Ground = None,
    context: options.ContextFile = None,
    overwrite: options.OverwriteFile = False,
    as_json: options.AsJson = False,
) -> None:
    """Draw a release as one page that needs no network: report.html in its folder, safe to publish."""
    trips = options.with_query(against, query)
    if as_json:
        if any((against, zones, columns, where, ground, context)):
            raise InputError(
                "--json prints what is safe to publish",
                "leave out --against and all other options; see flowveil evaluate",
            )
        print_json(report_numbers(folder))
        return
    with progress() as doing:
        doing("drawing")
        if against is not None:
            options.tell_input(folder, columns, where)
        shown = {"ground": ground, "context": context}
        path = fv.report(folder, trips, zones=zones, columns=columns, where=where, **shown, overwrite=overwrite)
    if against is None:
        typer.echo(f"wrote {path.name} in {path.parent} (safe to publish)")
    else:
        typer.echo(f"wrote {path.name} in {path.parent} (PRIVATE: do not publish it)")
