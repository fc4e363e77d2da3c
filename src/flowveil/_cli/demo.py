"""flowveil demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.anonymize import summary
from flowveil._cli.terminal import progress
from flowveil._folder import REPORT, check_target, public_file
from flowveil._synthetic import CITY_BBOX, DEMO_PERSONS, DEMO_TRIPS, write_demo_city

_GRID, _K = "h3:9", 10


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder to write the release to.")
    ] = Path("flowveil-demo"),
    overwrite: options.Overwrite = False,
) -> None:
    """Make a synthetic city, anonymize its trips, draw and verify the release: needs no data and no network."""
    folder = check_target(output, overwrite=overwrite)
    trips = folder.with_name(f"{folder.name}.trips.parquet")
    with progress() as doing:
        doing("making a city")
        with public_file(trips, overwrite=overwrite) as new:
            write_demo_city(new)
        doing("counting flows")
        flows = fv.build_flows(trips, _GRID, bbox=CITY_BBOX, unit="person_id")
        doing("anonymizing")
        release = fv.anonymize(flows, k=_K)
        release.write(folder, overwrite=overwrite, report=True)
        doing("verifying")
        result = fv.verify(folder, trips)
    typer.echo(
        f"Made a synthetic city: {DEMO_PERSONS:,} persons make {DEMO_TRIPS:,} trips ({trips.name}).\n"
        f"Counted its trips between cells of the grid {_GRID}, and joined cells until no flow had fewer than "
        f"{_K} persons:\n"
        f"\n{summary(flows, release)}\n"
        f"\nRead the folder back and checked {len(result.checks)} kinds of promises against the trips: all hold.\n"
        f"\n  {folder}/  is the release, safe to publish: flows.parquet, areas.parquet, manifest.json\n"
        f"  {folder / REPORT}  shows it: open it in a browser\n"
        f"  {folder}.audit.json  is private: exact figures of what was left out\n"
        f"\nNext: flowveil verify {output} --against {output.with_name(trips.name)}\n"
        f"      flowveil evaluate {output} --against {output.with_name(trips.name)}\n"
        f"      flowveil anonymize YOUR_TRIPS.csv -o out --unit person_id"
    )
