"""flowveil trips."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli.options import NUMBER, AsJson, Columns, OverwriteFile, ValueOptions, Where, given, number, takes
from flowveil._cli.terminal import count, note, print_json, progress
from flowveil._fixes import AUTO, RULES
from flowveil._options import parse_max_unusable

_Towers = Annotated[
    str | None, typer.Option(metavar="FILE", help="Towers (tower, lon, lat), for fixes that name a tower.")
]


@takes(ValueOptions)
def trips(
    written: ValueOptions,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FIXES", help="Fixes (user, lon, lat, time): CSV, Parquet or Arrow files, or a folder of cab files."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File of trips to write (Parquet).")],
    rule: Annotated[str, typer.Option(help=f"What a trip is: {', '.join([AUTO, *RULES])}.")] = AUTO,
    stop_radius: Annotated[str, typer.Option(help="A stop is fixes within this distance of the first.")] = "200m",
    stop_time: Annotated[str, typer.Option(help="How long a stop lasts at least.")] = "20min",
    max_gap: Annotated[str, typer.Option(help="No trip goes on through a longer silence.")] = "1h",
    max_speed: Annotated[str, typer.Option(help="Drop fixes that need a higher speed.")] = "500km/h",
    min_length: Annotated[str, typer.Option(help="Drop trips that are shorter, as the crow flies.")] = "0m",
    short_stops: Annotated[int, typer.Option(help="Columns for so many stops on the way.")] = 0,
    short_stop_time: Annotated[str, typer.Option(help="How long these last at least.")] = "5min",
    towers: _Towers = None,
    stops_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the stops (Parquet).")] = None,
    columns: Columns = None,
    where: Where = None,
    max_unusable: Annotated[
        float | None,
        number(parse=parse_max_unusable, metavar=NUMBER, help="Largest share of fixes to drop as unusable."),
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory, e.g. 2GB; what does not fit is sorted on disk.")] = None,
    overwrite: OverwriteFile = False,
    as_json: AsJson = False,
) -> None:
    """Make trips of raw fixes: who was where and when. The file is private, as fixes are."""
    with progress() as doing:
        made = fv.make_trips(
            source,
            output,
            rule=rule,
            stop_radius=stop_radius,
            stop_time=stop_time,
            max_gap=max_gap,
            max_speed=max_speed,
            min_length=min_length,
            short_stops=short_stops,
            short_stop_time=short_stop_time,
            towers=towers,
            stops_file=stops_file,
            columns=columns,
            where=where,
            **given(written),
            max_unusable=max_unusable,
            memory=memory,
            overwrite=overwrite,
            tell=doing,
        )
    if as_json:
        print_json(made.record())
        return
    for text in made.notes:
        note(text)
    stops = "" if made.stops is None else f" between {count(made.stops, 'stop')}"
    typer.echo(
        f"{count(made.trips, 'trip')}{stops} of {count(made.users, 'user')}, by the rule {made.settings['rule']}"
    )
    typer.echo(f"wrote {made.path.name} (private: only you can read it) in {made.path.parent}")
    if stops_file is not None:
        typer.echo(f"wrote {stops_file.name} (private)")
    typer.echo(f"next: flowveil anonymize {made.path.name} --unit user_id -o out")
