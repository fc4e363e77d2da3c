"""flowveil advise."""

from __future__ import annotations

from typing import Annotated

import typer

from flowveil._cli import options
from flowveil._cli.options import WHOLE, number
from flowveil._cli.terminal import print_json, progress, show
from flowveil._matrices import ADVICE_WARNING, DEFAULT_CELLS, parse_trips
from flowveil._matrices import advise as make_advice
from flowveil._options import parse_bound, parse_cells


def advise(
    epsilon: Annotated[str, typer.Option(metavar="E,...", help="Budgets to compare.")] = "0.1,0.5,1",
    trips: Annotated[
        int, number(parse=parse_trips, metavar=WHOLE, help="About how many trips you have, as far as the public knows.")
    ] = 200_000,
    max_trips_per_person: Annotated[
        int, number(parse=parse_bound, metavar=WHOLE, help="Trips of a person that would count.")
    ] = 1,
    cells: Annotated[
        int, number(parse=parse_cells, metavar=WHOLE, help="Cells along each side of the bbox.")
    ] = DEFAULT_CELLS,
    as_json: options.AsJson = False,
) -> None:
    """Show what error to expect of each method and epsilon, on a synthetic city: it looks at no data of yours."""
    with progress() as doing:
        doing("trying every method on a synthetic city")
        rows = make_advice(epsilon, trips, max_trips_per_person, cells)
    if as_json:
        print_json({"rows": rows, "warning": ADVICE_WARNING})
        return
    names = [name for name in rows[0] if name not in ("epsilon", "method", "boxes", "refused")]
    typer.echo("Mean relative error in percent, by queries; lower is better.")
    typer.echo(f"{'epsilon':>8} {'method':16} {'boxes':>10} " + " ".join(f"{name:>12}" for name in names))
    for row in rows:
        figures = " ".join(f"{row[name]:12.1f}" for name in names) if row["refused"] is None else row["refused"]
        boxes = "" if row["boxes"] is None else show(row["boxes"])
        typer.echo(f"{row['epsilon']:8g} {row['method']:16} {boxes:>10} {figures}")
    typer.echo(ADVICE_WARNING)
