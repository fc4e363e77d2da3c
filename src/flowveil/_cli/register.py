"""flowveil register."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli.options import NUMBER, WHOLE, AsJson, number
from flowveil._cli.terminal import count, note, print_json
from flowveil._options import parse_epsilon, parse_whole

_OPEN = "?  it is not known whether its folder was written: the run was killed"


def _number(value: object) -> int:
    return parse_whole(value, "forget, the number of a release,", "flowveil register FILE lists them")


def register(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The private register of the releases of a source.")],
    epsilon_budget: Annotated[
        float | None,
        number(parse=parse_epsilon, metavar=NUMBER, help="The most that all epsilons together may be from now on."),
    ] = None,
    forget: Annotated[
        int | None,
        number(parse=_number, metavar=WHOLE, help="Leave out this release, which was never published."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the releases that a register knows, and what they have spent."""
    known = fv.register(file, epsilon_budget=epsilon_budget, forget=forget)
    releases = [row | {name: _moment(row[name]) for name in ("first", "last")} for row in known.releases.to_pylist()]
    if forget is not None:
        note(
            f"release {forget} is forgotten, and what it spent: new ones are no longer checked with it. If anybody "
            "else has seen it, restore the register from a copy"
        )
    if as_json:
        spent = {"epsilon_budget": known.epsilon_budget, "epsilon_spent": known.epsilon_spent}
        print_json({"releases": releases, **spent})
        return
    for row in releases:
        typer.echo(f"{row['release']:>4}  {Path(row['folder']).name}  {row['made']}  {row['promise']}")
        period = f"{row['period']}; " if row["period"] else ""
        times = f"{row['first']} to {row['last']}; " if row["first"] else ""
        typer.echo(f"      {row['kind']}, {period}{times}{count(row['rows'], 'row')}")
        if row["state"] != "written":
            typer.echo(f"   {_OPEN}")
    budget = "no budget is set" if known.epsilon_budget is None else f"the budget is {known.epsilon_budget:g}"
    typer.echo(f"{count(len(releases), 'release')}; epsilon {known.epsilon_spent:g} is spent, {budget}")
    typer.echo("Keep this file private: it knows which trips are in which flow.", err=True)


def _moment(value: object) -> str | None:
    return None if value is None else f"{value:%Y-%m-%d %H:%M}"
