"""flowveil risk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.terminal import print_json, progress, show
from flowveil._options import Keywords, parse_choice
from flowveil._risk import VERDICTS

if TYPE_CHECKING:
    from flowveil._risk import Risk

_SIGN = dict(zip(VERDICTS, ("ok", "--", "!!"), strict=True))


def risk(
    folder: options.ReleaseFolder,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--and", metavar="DIR", help="Another release of the same data (several: repeat)."),
    ] = None,
    margins: Annotated[
        str | None, typer.Option("--with", metavar="TABLE", help="Figures known from elsewhere: CSV or Parquet.")
    ] = None,
    narrow: Annotated[
        int | None, typer.Option(metavar="N", help="Tell of hidden trips that are known to within fewer than N.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="INPUT", help="The trips: figures are then private.")
    ] = None,
    query: options.Query = None,
    zones: options.ZonesFile = None,
    columns: options.Columns = None,
    where: options.Where = None,
    sensitive: options.SensitiveFile = None,
    attacks: Annotated[str | None, typer.Option(metavar="NAME,...", help="Only these attacks.")] = None,
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", metavar="VERDICT", help="Exit 1 from this verdict on: tells or breaks.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Attack a release as a stranger would; say what holds, what it tells, and what to do about it."""
    if fail_on is not None:
        parse_choice(fail_on, "verdict", VERDICTS[1:])
    with progress() as doing:
        doing("attacking")
        trips = options.with_query(against, query)
        given: Keywords = {"zones": zones, "columns": columns, "where": where}
        known: Keywords = {"beside": beside or (), "margins": margins, "narrow": narrow, "sensitive": sensitive}
        result = fv.risk(folder, trips, **known, attacks=attacks, **given, progress=doing)
    if as_json:
        print_json(result.to_dict())
    else:
        _print(result)
    if fail_on is not None and (result.reaches(fail_on) or result.inapplicable):  # what was not tried has not held
        raise typer.Exit(1)


def _print(result: Risk) -> None:
    for finding in result.findings:
        typer.echo(f"  {_SIGN[finding.verdict]}  {finding.attack}: {show(finding.figure)} {finding.counted}")
        typer.echo(f"      {finding.sentence}")
        if finding.advice:
            typer.echo(f"      {finding.advice}")
    if result.skipped:
        typer.echo(f"not run without --against INPUT: {', '.join(result.skipped)}")
    if result.inapplicable:
        typer.echo(
            f"not run, since this release is not of the kind that they are for: {', '.join(result.inapplicable)}"
        )
    if result.private:
        typer.echo(
            "Some of these figures come from the true trips, or from your list of places: keep them private.", err=True
        )
