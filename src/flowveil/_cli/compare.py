"""flowveil compare."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

import flowveil as fv
from flowveil._cli.options import (
    NUMBER,
    WHOLE,
    AsJson,
    ElsewhereFlag,
    KWeight,
    MinTiles,
    RemaindersFlag,
    TripOptions,
    number,
    takes,
)
from flowveil._cli.terminal import note, print_json
from flowveil._options import DEFAULT_K, Keywords, parse_epsilon, parse_k, parse_max_suppression
from flowveil._study import (
    MOST_SECONDS,
    Row,
    check_target,
    markdown,
    parse_comparison,
    parse_time_limit,
    shown,
    write_comparison,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SHOWN = ("method", "status", "gbar", "suppressed", "flows", "seconds", "memory_mb")


@takes(TripOptions)
def compare(
    trips: TripOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for the table.")] = None,
    methods: Annotated[str, typer.Option(metavar="all|A,B,...", help="Which methods.")] = "all",
    k: Annotated[
        int, number("-k", parse=parse_k, metavar=WHOLE, help="Fewest persons (trips without --unit) of a flow.")
    ] = DEFAULT_K,
    k_weight: KWeight = None,
    min_tiles: MinTiles = 1,
    max_suppression: Annotated[
        float | None,
        number(
            parse=parse_max_suppression,
            metavar=NUMBER,
            help="Largest share of trips to leave out, for methods that steer it.",
        ),
    ] = None,
    elsewhere: ElsewhereFlag = False,
    remainders: RemaindersFlag = False,
    epsilon: Annotated[
        float | None,
        number(
            parse=parse_epsilon,
            metavar=NUMBER,
            help="Compare laplace too: noise that protects one trip at this epsilon.",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="METHOD.NAME=VALUE", help="An option of one method; may be repeated."),
    ] = None,
    time_limit: Annotated[
        float, number(parse=parse_time_limit, metavar="SECONDS", help="Time for each method.")
    ] = MOST_SECONDS,
    memory_limit: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory for each method, e.g. 2GB.")] = None,
    check: Annotated[bool, typer.Option("--verify", help="Also verify the release of each method.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a comparison that is already there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run methods side by side, each in a process of its own. The figures are private."""
    if output is not None:
        check_target(output, overwrite=overwrite)
    keywords: Keywords = {
        "max_suppression": max_suppression,
        "k_weight": k_weight,
        "min_tiles": min_tiles,
        "elsewhere": elsewhere,
        "remainders": remainders,
        "epsilon": epsilon,
        "options": option,
        "time_limit": time_limit,
        "memory_limit": memory_limit,
        "verify": check,
    }
    parse_comparison(methods, k, **keywords)
    flows = trips.flows()
    with _live() as watch:
        table = fv.compare(flows, methods, k, watch=watch, **keywords).table
    if output is not None:
        folder = write_comparison(table, output, f"{flows.total:,} trips, k = {k}", overwrite=overwrite)
        note(f"wrote compare.parquet, compare.md and compare.svg in {folder.name}/; they are private")
    if as_json:
        print_json(table.to_pylist())
    else:
        typer.echo(markdown(table), nl=False)


@contextmanager
def _live() -> Iterator[Callable[[list[Row], str, float, int | None], None] | None]:
    """Show a table that fills while methods run; nothing when stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Live(console=console, transient=True, refresh_per_second=4) as live:

        def watch(rows: list[Row], method: str, seconds: float, memory: int | None) -> None:
            running: Row = {"method": method, "status": "running", "seconds": seconds}
            live.update(_picture([*rows, running if memory is None else {**running, "memory_mb": memory / 1e6}]))

        yield watch


def _picture(rows: list[Row]) -> Table:
    picture = Table(*_SHOWN)
    for row in rows:
        picture.add_row(*(shown(name, row.get(name)) for name in _SHOWN))
    return picture
