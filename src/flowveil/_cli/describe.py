"""flowveil describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.terminal import count, print_json, progress, show
from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._describe import Description


@options.takes(options.WrittenOptions)
def describe(
    written: options.WrittenOptions,
    source: Annotated[str, typer.Argument(metavar="INPUT", help="Trips, as for anonymize.")],
    query: options.Query = None,
    grid: Annotated[str | None, typer.Option(help="h3:RESOLUTION (default h3:10) or quadtree:METERS.")] = None,
    zones: options.ZonesFile = None,
    bbox: Annotated[str | None, typer.Option(metavar="W,S,E,N", help="Keep trips with both ends inside.")] = None,
    columns: options.Columns = None,
    where: options.Where = None,
    unit: Annotated[str | None, typer.Option(help="Column of persons (or vehicles).")] = None,
    ks: Annotated[
        str, typer.Option("--ks", metavar="N,...", help="For which k to say what is anonymous.")
    ] = "2,5,10,20",
    memory: Annotated[str | None, typer.Option(help="Memory to use, e.g. 2GB: reading spills beyond it.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what was understood of trips, and their figures. All of it is private."""
    with progress() as doing:
        doing("looking at the trips")
        trips = fv.read_trips(source, columns, where, query=query, **options.given(written))
        told = fv.describe(trips, grid, zones=zones, bbox=bbox, unit=unit, ks=ks, memory=memory)
    if as_json:
        print_json(told.to_dict())
    else:
        for name, text in lines(told):
            typer.echo(f"{name:<16}{text}")
        typer.echo("All of this is private: figures are exact. Do not publish it.", err=True)
    if told.problem is not None:
        raise InputError(told.problem, told.hint or "see flowveil anonymize --help")


def lines(told: Description) -> list[tuple[str, str]]:
    """Return what is said, a name and a text each."""
    source = dict(told.source)
    words = [str(source.pop("format"))]
    for name, value in source.items():
        words.append(count(value, name.removesuffix("s")) if isinstance(value, int) else value)
    said = [("input", ", ".join(words)), ("layout", told.layout or "none that is known by its columns")]
    said += [
        (name, f"computed from {', '.join(told.computed[column])}" if column in told.computed else f"column {column!r}")
        for name, column in told.columns.items()
    ]
    if told.other_columns:
        said.append(("other columns", ", ".join(told.other_columns)))
    if told.unit or told.possible_unit:
        said.append(("unit", told.unit or f"none; --unit {told.possible_unit} would count vehicles"))
    said += [(name, text) for name, text in (("coordinates", told.crs), ("places", told.places)) if text]
    if told.time_sample is not None:
        said.append(("a time", repr(told.time_sample)))
    said += _times(told)
    if told.rows is not None:
        said.append(("rows", f"{told.rows:,}, of which {told.usable:,} can be used"))
        said += [("", f"{rows:,} cannot: {reason}") for reason, rows in told.dropped.items()]
        said += [("", f"{told.outside_bbox:,} lie outside the bbox")] if told.outside_bbox else []
    return [*said, *_figures(told), *(("note", note) for note in told.notes if "rows dropped" not in note)]


def _times(told: Description) -> list[tuple[str, str]]:
    times = told.times
    if times is None or times.first is None:
        return [] if times is None else [("times", "none that can be used: see --time-format")]
    clock = "UTC" if times.utc else "as a local clock shows them"
    span = f"{times.first} to {times.last} ({clock}), {times.span_days:.1f} days"
    lost = f"; {times.unusable:,} rows have none that can be used" if times.unusable else ""
    return [("times", span), ("", f"{count(times.hours_covered, 'hour')} with a trip{lost}")]


def _figures(told: Description) -> list[tuple[str, str]]:
    figures = told.figures
    if figures is None:
        return []
    tiles = f"{figures.tiles:,} ({figures.origin_tiles:,} of origins, {figures.destination_tiles:,} of destinations)"
    said = [
        ("trips", f"{figures.trips:,}"),
        ("tiles", tiles),
        ("pairs", f"{figures.pairs:,}, {figures.density:.3%} of those possible"),
    ]
    if figures.persons is not None and figures.trips_a_person is not None:
        made = figures.trips_a_person
        said.append(("persons", f"{figures.persons:,}"))
        texts = ", ".join(f"{name} {show(value)}" for name, value in made.items())
        said.append(("trips a person", texts))
    who = "trips" if figures.persons is None else "persons"
    for row in figures.anonymous:
        share = f"{row['flows']:.1%} of the pairs and {row['volume']:.1%} of the trips"
        said.append((f"k = {row['k']:.0f}", f"{share} have at least {row['k']:.0f} {who} already"))
    return said
