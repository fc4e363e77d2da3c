"""flowveil study."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

import flowveil as fv
from flowveil._cli.options import (
    NUMBER,
    WHOLE,
    ElsewhereFlag,
    MinTiles,
    RemaindersFlag,
    TripOptions,
    given,
    number,
    takes,
)
from flowveil._cli.terminal import note
from flowveil._errors import InputError
from flowveil._options import Keywords, parse_whole
from flowveil._study import (
    MOST_SECONDS,
    Progress,
    check_study,
    markdown_table,
    mean_table,
    parse_processes,
    parse_study,
    parse_time_limit,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MEGABYTE = 1_000_000
_DEFAULTS: Keywords = {
    "methods": "all",
    "k": "10",
    "protect": "participants",
    "min_tiles": 1,
    "elsewhere": False,
    "remainders": False,
    "least_trips": 1,
}


def _count(name: str) -> Callable[[object], int]:
    return lambda value: parse_whole(value, name, "it is a whole number, 1 or more")


@dataclass(frozen=True)
class StudiedTrips(TripOptions):
    """Trips, unless a preset brings its own."""

    source: Annotated[str | None, typer.Argument(metavar="[INPUT]", help="Trips, unless --preset is given.")] = None  # type: ignore[assignment]


@takes(StudiedTrips)
def study(
    trips: StudiedTrips,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write, or to go on with after a stop.")
    ],
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="A table or figure of a paper, e.g. atg-table3.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="With --preset: public data (else the synthetic city).")
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="With --preset: a small size, of the synthetic city.")] = False,
    methods: Annotated[str, typer.Option(metavar="all|A,B,...", help="Which methods.")] = "all",
    k: Annotated[str, typer.Option("-k", metavar="N,...", help="Fewest persons (trips without --unit) of a flow.")] = (
        "10"
    ),
    max_suppression: Annotated[
        str | None, typer.Option(metavar="SHARE,...", help="Budgets, for methods that steer what they leave out.")
    ] = None,
    protect: Annotated[
        str, typer.Option(metavar="WHO,...", help="participants, population (needs --weight), both.")
    ] = "participants",
    reference: Annotated[
        str | None, typer.Option(metavar="METHOD", help="What others are held against (default: the first).")
    ] = None,
    min_tiles: MinTiles = 1,
    elsewhere: ElsewhereFlag = False,
    remainders: RemaindersFlag = False,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E,...", help="Study laplace too: noise that protects one trip.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="METHOD.NAME=VALUE", help="An option of one method; may be repeated."),
    ] = None,
    least_trips: Annotated[
        int, number(parse=_count("least_trips"), metavar=WHOLE, help="Leave out matrices with fewer trips.")
    ] = 1,
    sample: Annotated[
        int | None, number(parse=_count("sample"), metavar=WHOLE, help="Draw so many of the matrices.")
    ] = None,
    time_limit: Annotated[
        float, number(parse=parse_time_limit, metavar=NUMBER, help="Seconds for a method on a matrix.")
    ] = MOST_SECONDS,
    memory_limit: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of a process, e.g. 2GB.")] = None,
    processes: Annotated[
        int | None, number(parse=parse_processes, metavar=WHOLE, help="Run so many at once (default: one a core).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Begin anew where other settings were.")] = False,
) -> None:
    """Measure methods in all combinations on every matrix. Private. Run again after a stop, it goes on."""
    check_study(output)
    limits: Keywords = {"time_limit": time_limit, "memory_limit": memory_limit, "processes": processes}
    keywords: Keywords = {
        "max_suppression": max_suppression,
        "protect": protect,
        "reference": reference,
        "min_tiles": min_tiles,
        "elsewhere": elsewhere,
        "remainders": remainders,
        "epsilon": epsilon,
        "options": option,
    }
    own: Keywords = {"methods": methods, "k": k, "least_trips": least_trips, "sample": sample} | keywords
    if preset is not None:
        _check_alone(trips, own)
        with _shown() as watch:
            fv.reproduce(preset, output, data=data, small=small, overwrite=overwrite, watch=watch, **limits)
        for document in sorted(output.glob(f"{preset}*.md")) or sorted(output.glob("*.md")):
            typer.echo(document.read_text(encoding="utf-8"))
        note(f"wrote tables, pictures and all rows in {output.name}/; they are private where the data are")
        return
    if trips.source is None:
        raise InputError("there are no trips to study", "give INPUT, or --preset NAME")
    if data is not None or small:
        raise InputError("--data and --small go with --preset", "leave them out")
    parse_study(methods, k, **keywords, time_limit=time_limit, memory_limit=memory_limit)
    flows = trips.flows()
    with _shown() as watch:
        table = fv.study(flows, output, watch=watch, overwrite=overwrite, **own, **limits).table
    note(f"wrote study.parquet, study.csv, a summary and pictures in {output.name}/; they are private")
    head, *rows = mean_table(table.to_pylist())
    typer.echo(markdown_table(head, rows), nl=False)


def _check_alone(trips: StudiedTrips, own: Keywords) -> None:
    """Raise if anything was typed that a preset says itself."""
    typed = [f"--{name.replace('_', '-')}" for name in given(trips) if name != "source"]
    typed += [f"--{name.replace('_', '-')}" for name, value in own.items() if value != _DEFAULTS.get(name)]
    if trips.source is not None or typed:
        what = "INPUT" if trips.source is not None else typed[0]
        raise InputError(f"a preset says itself what to run on what, but {what} was given", "leave it out, or --preset")


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar with what runs and the time left; nothing when stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def watch(progress: Progress) -> None:
            left = progress.seconds_left
            told = "" if left is None else f"about {timedelta(seconds=int(left))} left; "
            told += ", ".join(
                f"{name} {seconds:.0f} s" + ("" if memory is None else f" {memory / _MEGABYTE:.0f} MB")
                for name, (seconds, memory) in sorted(progress.running.copy().items())
            )
            bar.update(task, total=progress.calls, completed=progress.done, description=told)

        yield watch
