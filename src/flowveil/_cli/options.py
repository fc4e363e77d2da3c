"""Options that several commands share, each written once."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_type_hints

import typer

import flowveil as fv
from flowveil._cli.terminal import note, warn
from flowveil._engine import DUCKDB, QuerySource, describe_input, open_source
from flowveil._errors import InputError
from flowveil._folder import read_audit, remembered
from flowveil._options import (
    DEFAULT_LOSS,
    PRESETS,
    Keywords,
    parse_columns,
    parse_k,
    parse_k_weight,
    parse_max_share,
    parse_max_unusable,
    parse_min_tiles,
)
from flowveil._release import DEFAULT_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance
    from typer.models import OptionInfo


def number(*names: str, parse: Callable[[str], object], metavar: str, help: str) -> OptionInfo:  # noqa: A002  as Typer calls it
    """Return an option whose text the library reads; what it says of a wrong one is said of the option."""

    def read(text: str) -> object:
        try:
            return parse(text)
        except InputError as error:
            wrong = typer.BadParameter(error.message)
            wrong.hint = error.hint  # type: ignore[attr-defined]
            raise wrong from None

    return cast("OptionInfo", typer.Option(*names, parser=read, metavar=metavar, help=help))


WHOLE, NUMBER = "<int>", "<float>"
Against = Annotated[str, typer.Option("--against", metavar="INPUT", help="The trips the release was made from.")]
ReleaseFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write the release to.")]
RegisterFile = Annotated[
    Path | None,
    typer.Option(
        "--register", metavar="FILE", help="Private register of all releases of this source: check and enter."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a release that is already there.")]
OverwriteFile = Annotated[bool, typer.Option("--overwrite", help="Replace a file that is already there.")]
Report = Annotated[bool, typer.Option("--report", help="Add report.html: a map and figures, safe to publish.")]
Ground = Annotated[
    str | None,
    typer.Option("--ground", metavar="NAME", help="Shores of the report: world (default), or full (extra maps)."),
]
ContextFile = Annotated[
    str | None,
    typer.Option("--context", metavar="FILE", help="Rivers, roads: GeoJSON or GeoParquet that the report shows."),
]
ZonesFile = Annotated[
    str | None,
    typer.Option("--zones", metavar="FILE", help="Zones: GeoParquet, GeoJSON, GeoPackage, Shapefile or CSV."),
]
ZoneName = Annotated[
    str | None, typer.Option("--zone-name", metavar="COL", help="Column of the zones that names them ('' for none).")
]
PlacesFile = Annotated[
    str | None,
    typer.Option("--places", metavar="FILE", help="Places (name, lon, lat) that areas of a grid are called after."),
]
SensitiveFile = Annotated[
    str | None,
    typer.Option("--sensitive", metavar="FILE", help="Clinics, shelters: places that flows must not pin down."),
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="NAME=COL,...", help="Which column holds what, e.g. start_lon=x1.")
]
Where = Annotated[
    str | None, typer.Option("--where", metavar="CONDITION", help="Keep rows that fulfill this SQL condition.")
]
KWeight = Annotated[
    float | None,
    number(
        "--k-weight",
        parse=parse_k_weight,
        metavar="N|auto|Nx",
        help="Fewest people represented by a flow; auto: k times the mean; 10x: ten times.",
    ),
]
MinTiles = Annotated[int, number(parse=parse_min_tiles, metavar=WHOLE, help="Fewest tiles of both ends of a flow.")]
MaxShare = Annotated[
    float | None,
    number(parse=parse_max_share, metavar=NUMBER, help="Largest share of a flow's trips that one person may make."),
]
ElsewhereFlag = Annotated[
    bool, typer.Option("--elsewhere", help="Report trips left out as flows to elsewhere, where they are enough.")
]
RemaindersFlag = Annotated[
    bool, typer.Option("--remainders", help="Let a flow count all other trips after finer flows inside it.")
]
Query = Annotated[str | None, typer.Option("--query", metavar="SQL", help="What to ask the database that INPUT names.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]


@dataclass(frozen=True, kw_only=True)
class ValueOptions:
    """How the values of an input are written, where it is not to be found out."""

    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of text files, e.g. cp1252 (default: UTF-8, or found out).")
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Sign before decimals: , or . (degrees are read either way).")
    ] = None
    time_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="How times are written: '%d/%m/%Y %H:%M' or the like, unix-ms, excel."),
    ] = None
    input_crs: Annotated[
        str | None, typer.Option(metavar="CRS", help="CRS of coordinates that are not degrees, e.g. EPSG:2154.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class WrittenOptions(ValueOptions):
    """How trips are written, where it is not to be found out."""

    layout: Annotated[
        str | None, typer.Option(metavar="NAME", help="What its columns are; see flowveil layouts ('' for none).")
    ] = None
    matrices: Annotated[str | None, typer.Option(metavar="NAME,...", help="Which matrices of an Open Matrix file.")] = (
        None
    )


@dataclass(frozen=True)
class TripOptions(WrittenOptions):
    """Which trips, and between which places they are counted."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Trips: CSV, Parquet, Arrow, OMX or zip file, folder, quoted glob, or postgresql://...",
        ),
    ]
    query: Query = None
    grid: Annotated[str | None, typer.Option(help="h3:RESOLUTION (default h3:10) or quadtree:METERS.")] = None
    hierarchy: Annotated[
        str | None,
        typer.Option(help="lattice, h3, h3-binary or quadtree; for zones many, ward, or columns from fine to coarse."),
    ] = None
    zones: ZonesFile = None
    zone_name: ZoneName = None
    places: PlacesFile = None
    crs: Annotated[str | None, typer.Option(help="Projected CRS of a quadtree, e.g. EPSG:32610.")] = None
    columns: Columns = None
    where: Where = None
    bbox: Annotated[str | None, typer.Option(metavar="W,S,E,N", help="Keep trips with both ends inside.")] = None
    strict: Annotated[bool, typer.Option("--strict", help="Fail on rows that cannot be used.")] = False
    max_unusable: Annotated[
        float | None,
        number(
            parse=parse_max_unusable,
            metavar=NUMBER,
            help="Largest share of rows that may be dropped as unusable (default 0.2).",
        ),
    ] = None
    unit: Annotated[str | None, typer.Option(help="Column of persons: k then counts persons, not trips.")] = None
    counts: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="What a counted table counts: trips, or persons, each of them once."),
    ] = None
    weight: Annotated[str | None, typer.Option(help="Column of people represented by a person.")] = None
    trip_weight: Annotated[
        str | None, typer.Option(metavar="COL", help="In its place, with --unit: column of trips a trip stands for.")
    ] = None
    time: Annotated[
        str | None,
        typer.Option(help="One matrix a step: 15min, 1h, 1d, week, month, hour-of-day, hour-of-week, day-type."),
    ] = None
    time_hierarchy: Annotated[
        str | None,
        typer.Option(metavar="LEVELS", help="Generalize time like places, e.g. '1h<part-of-day<day' (mosaic)."),
    ] = None
    timezone: Annotated[str | None, typer.Option(help="Whose clock cuts time, e.g. Europe/Rome.")] = None
    by: Annotated[str | None, typer.Option(metavar="COL,...", help="One matrix a group of these columns.")] = None
    memory: Annotated[str | None, typer.Option(help="Memory to use, e.g. 2GB: reading spills beyond it.")] = None
    engine: Annotated[str, typer.Option(help="What counts trips: duckdb (this machine) or spark.")] = DUCKDB
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="With --engine spark: its cluster, e.g. spark://HOST:PORT.")
    ] = None

    def read(self) -> fv.Trips:
        """Describe the trips, which are not read yet."""
        written = {item.name: getattr(self, item.name) for item in fields(WrittenOptions)}
        return fv.read_trips(self.source, self.columns, self.where, query=self.query, **written)

    def flows(
        self,
        watch: Callable[[int, int | None], None] | None = None,
        *,
        k: int | None = None,
        k_weight: float | str | None = None,
    ) -> fv.Flows:
        """Read and count the trips; tell what was dropped. With k, persons stay on the cluster."""
        flows = fv.build_flows(
            self.read(),
            self.grid,
            zones=self.zones,
            zone_name=self.zone_name,
            places=self.places,
            hierarchy=self.hierarchy,
            crs=self.crs,
            bbox=self.bbox,
            unit=self.unit,
            counts=self.counts,
            weight=self.weight,
            trip_weight=self.trip_weight,
            time=self.time,
            time_hierarchy=self.time_hierarchy,
            timezone=self.timezone,
            by=() if self.by is None else self.by,
            strict=self.strict,
            max_unusable=self.max_unusable,
            memory=self.memory,
            engine=self.engine,
            master=self.master,
            k=None if self.trip_weight else k,  # persons then come here
            k_weight=None if self.trip_weight else k_weight,
            watch=watch,
        )
        for text in flows.provenance.notes:
            note(text)
        for text in flows.provenance.doubts:
            warn(text)
        if self.unit is None and not flows.provenance.counted_persons:
            of_counts = "; if the table counts persons, each of them once, say --counts persons"
            more = of_counts if flows.provenance.counted else ""
            note(f"k counts trips, since no --unit was given: one person may have made all trips of a flow{more}")
        return flows


@dataclass(frozen=True)
class DemandOptions:
    """What is asked of a method."""

    method: Annotated[str, typer.Option(help="How to anonymize; see flowveil methods.")] = DEFAULT_METHOD
    k: Annotated[
        int | None,
        number(
            "-k", parse=parse_k, metavar=WHOLE, help="Fewest persons (trips without --unit) of a flow (default 10)."
        ),
    ] = None
    k_weight: KWeight = None
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"k as others set it, of persons: {', '.join(PRESETS)}.")
    ] = None
    min_tiles: MinTiles = 1
    max_share: MaxShare = None
    loss: Annotated[str, typer.Option(help="What to lose little of: tiles, metres, reconstruction or area.")] = (
        DEFAULT_LOSS
    )
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the method.")
    ] = None

    def keywords(self) -> Keywords:
        """Return the options as the Python API takes them."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return values | {"options": values.pop("option")}


@dataclass(frozen=True)
class DescriptionOptions:
    """What the publisher says of a release; it goes to the manifest and the report."""

    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the release and its report.")] = None
    period: Annotated[str | None, typer.Option(metavar="TEXT", help="When the trips were made, e.g. 'June 2024'.")] = (
        None
    )
    publisher: Annotated[str | None, typer.Option(metavar="TEXT", help="Who publishes the release.")] = None
    license: Annotated[str | None, typer.Option(metavar="TEXT", help="What others may do with it.")] = None
    contact: Annotated[str | None, typer.Option(metavar="TEXT", help="Whom to ask.")] = None
    unit_label: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the unit tells apart, in the plural: bikes, cabs.")
    ] = None


def warn_of_one(k: int, k_weight: object) -> None:
    """Say that a k of 1 protects nobody."""
    if k == 1 and k_weight is None:
        warn("k is 1, which protects nobody")


def given(*groups: DataclassInstance) -> Keywords:
    """Return the options that were given, those that are not as they are by default, by their names in Python."""
    return {
        item.name: getattr(group, item.name)
        for group in groups
        for item in fields(group)
        if getattr(group, item.name) != item.default
    }


def tell_input(
    folder: Path, columns: str | None, where: str | None, written: WrittenOptions = WrittenOptions()
) -> None:
    """Say which rows and columns of the input are looked at, if options or the audit file say so: anybody may have."""
    story = remembered(read_audit(folder))
    reading = story.reading | given(written)
    for sentence in describe_input(where or story.where, parse_columns(columns) or story.columns or {}, reading):
        note(sentence)


def open_against(
    folder: Path, source: tuple[str | None, str | None], columns: str | None, where: str | None, written: WrittenOptions
) -> tuple[fv.Trips | str | QuerySource | None, str | None, str | None]:
    """Return the trips of an INPUT and its --query, and columns and condition that are still to be given with them.

    Functions open trips themselves as the audit file says, unless options say how they are written.
    """
    against, query = source
    said = given(written)
    if not said:
        return with_query(against, query), columns, where
    if against is None:
        raise InputError("options on how the trips are written were given, but no trips", "add --against INPUT")
    story = remembered(read_audit(folder))
    reading = story.reading | said
    trips = fv.read_trips(against, columns or story.columns, where or story.where, query=query, **reading)
    return trips, None, None


def with_query(source: str | None, query: str | None) -> str | QuerySource | None:
    """Return the trips of an INPUT and its --query, for functions that open trips themselves; None without INPUT."""
    if query is None:
        return source
    if source is None:
        raise InputError("a query was given, but no database", "add --against postgresql://USER@HOST/DATABASE")
    return cast("QuerySource", open_source(source, query))


def takes(*groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command all options of `groups`; it gets one object of each group, in order, before its own parameters."""

    def extend(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[len(groups) :]
        shared = [[_parameter(group, item) for item in fields(group)] for group in groups]

        @wraps(command)
        def run(**values: object) -> None:
            filled = [
                group(**{parameter.name: values.pop(parameter.name) for parameter in parameters})
                for group, parameters in zip(groups, shared, strict=True)
            ]
            command(*filled, **values)

        every = [*own, *(parameter for parameters in shared for parameter in parameters)]
        every = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in every]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return run

    return extend


def _parameter(group: type, item: Field[object]) -> inspect.Parameter:
    default = inspect.Parameter.empty if item.default is MISSING else item.default
    hint = get_type_hints(group, include_extras=True)[item.name]
    return inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
