"""flowveil anonymize."""

from __future__ import annotations

from typing import Annotated

import typer

import flowveil as fv
from flowveil.cli import _options as options
from flowveil.cli._parse import columns as parse_columns
from flowveil.cli._parse import pairs
from flowveil.cli._terminal import note, progress, show
from flowveil.release import DEFAULT_METHOD, check_target


def anonymize(
    source: options.Input,
    output: options.Output,
    method: Annotated[str, typer.Option(help="How to anonymize; see flowveil methods.")] = DEFAULT_METHOD,
    k: Annotated[int, typer.Option("-k", help="Fewest persons (trips without --unit) of a flow.")] = 10,
    max_suppression: Annotated[
        float | None, typer.Option(help="Largest share of trips to leave out (default 0.1).")
    ] = None,
    grid: Annotated[str | None, typer.Option(help="h3:RESOLUTION (default h3:10) or quadtree:METERS.")] = None,
    hierarchy: Annotated[
        str | None, typer.Option(help="h3 or h3-binary; for zones ward, or columns from fine to coarse.")
    ] = None,
    zones: options.ZonesFile = None,
    crs: Annotated[str | None, typer.Option(help="Projected CRS of a quadtree, e.g. EPSG:32610.")] = None,
    columns: options.Columns = None,
    where: options.Where = None,
    bbox: Annotated[str | None, typer.Option(metavar="W,S,E,N", help="Keep trips with both ends inside.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on rows that cannot be used.")] = False,
    unit: Annotated[str | None, typer.Option(help="Column of persons: k then counts persons, not trips.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column of people represented by a person.")] = None,
    k_weight: Annotated[float | None, typer.Option(help="Fewest people represented by a flow.")] = None,
    min_tiles: Annotated[int, typer.Option(help="Fewest tiles of both ends of a flow.")] = 1,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the method.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Memory for reading before it spills to disk, e.g. 2GB.")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Turn trips into flows that are safe to publish."""
    check_target(output, overwrite=overwrite)
    with progress() as doing:
        doing("reading trips")
        flows = fv.build_flows(
            fv.read_trips(source, parse_columns(columns), where),
            grid,
            zones=zones,
            hierarchy=hierarchy,
            crs=crs,
            bbox=bbox,
            unit=unit,
            weight=weight,
            strict=strict,
            memory=memory,
        )
        for text in flows.provenance.notes:
            note(text)
        doing(f"anonymizing {flows.total:,} trips with {method}")
        release = fv.anonymize(
            flows,
            method,
            k,
            max_suppression=max_suppression,
            k_weight=k_weight,
            min_tiles=min_tiles,
            options=pairs(option or [], "--option"),
        )
        doing("writing")
        folder = release.write(output, overwrite=overwrite)
    if unit is None:
        note("k counts trips, since no --unit was given: one person may have made all trips of a flow")
    typer.echo(summary(flows, release))
    typer.echo(f"wrote {folder.name}/ (safe to publish) and {folder.name}.audit.json (private) in {folder.parent}")


def summary(flows: fv.Flows, release: fv.Release) -> str:
    """Say in a few lines what a release holds and what was lost; private, as it tells exact figures."""
    figures = release.metrics()
    return (
        f"{show(figures['flows'])} flows between {show(figures['origin_areas'])} origin and "
        f"{show(figures['destination_areas'])} destination areas, with {show(figures['trips'])} of "
        f"{show(flows.total)} trips ({figures['suppressed']:.3%} left out)\n"
        f"mean generalization error {show(figures['gbar'])} tiles (2 is none)\n"
        f"promise: {release.manifest['promise_text']}"
    )
