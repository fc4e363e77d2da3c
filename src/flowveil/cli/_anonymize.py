"""flowveil anonymize."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil.cli import _noise
from flowveil.cli._noise import NoiseOptions
from flowveil.cli._options import DemandOptions, Output, Overwrite, TripOptions, takes
from flowveil.cli._terminal import progress, show
from flowveil.release import check_target


@takes(TripOptions, DemandOptions, NoiseOptions)
def anonymize(
    trips: TripOptions,
    demand: DemandOptions,
    noise: NoiseOptions,
    output: Output,
    max_suppression: Annotated[
        float | None, typer.Option(help="Largest share of trips to leave out (default 0.1).")
    ] = None,
    max_gbar: Annotated[
        float | None,
        typer.Option(help="In its place: precision to reach (mean tiles of both ends), leaving out the least."),
    ] = None,
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="Report trips left out as flows to elsewhere, where they are enough.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Turn trips into flows that are safe to publish."""
    check_target(output, overwrite=overwrite)
    if name := noise.method(demand):
        if elsewhere:
            raise fv.InputError("a release with noise leaves nothing out to report", "leave out --elsewhere")
        with progress() as doing:
            steering = {"max_suppression": max_suppression, "max_gbar": max_gbar}
            noisy = noise.release(name, trips, demand, doing, **steering)
            folder = noisy.write(output, overwrite=overwrite)
        _end(_noise.summary(noisy), folder)
        return
    demand.check()
    with progress() as doing:
        doing("reading trips")
        flows = trips.flows()
        doing(f"anonymizing {flows.total:,} trips with {demand.method}")
        keywords = demand.keywords() | {"elsewhere": elsewhere}
        release = fv.anonymize(flows, max_suppression=max_suppression, max_gbar=max_gbar, **keywords)
        doing("writing")
        folder = release.write(output, overwrite=overwrite)
    _end(summary(flows, release), folder)


def _end(text: str, folder: Path) -> None:
    typer.echo(text)
    typer.echo(f"wrote {folder.name}/ (safe to publish) and {folder.name}.audit.json (private) in {folder.parent}")


def summary(flows: fv.Flows, release: fv.Release) -> str:
    """Say in a few lines what a release holds and what was lost; private, as it tells exact figures."""
    figures = release.metrics()
    rest = figures.get("elsewhere")
    reported = f"{show(rest['trips'])} of these are reported as going elsewhere\n" if rest else ""
    return (
        f"{show(figures['flows'])} flows between {show(figures['origin_areas'])} origin and "
        f"{show(figures['destination_areas'])} destination areas, with {show(figures['trips'])} of "
        f"{show(flows.total)} trips ({figures['suppressed']:.3%} left out)\n{reported}"
        f"mean generalization error {show(figures['gbar'])} tiles (2 is none)\n"
        f"promise: {release.manifest['promise_text']}"
    )
