"""flowveil trajectories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from flowveil import trajectories as paths
from flowveil.cli._options import Against, AsJson, Columns, Output, Overwrite, ReleaseFolder, Where, takes
from flowveil.cli._parse import columns as parse_columns
from flowveil.cli._terminal import note, print_json, progress
from flowveil.release import check_target

app = typer.Typer(
    name="trajectories",
    help="Publish whole trajectories that at least k users share.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class SampleOptions:
    """Which samples, and the grid they are put on."""

    source: Annotated[
        str, typer.Argument(metavar="INPUT", help="Samples (user, lon, lat, time): CSV, Parquet or Arrow files.")
    ]
    bbox: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="A public box, in degrees; samples outside are dropped.")
    ] = None
    step: Annotated[str, typer.Option(help="Edge of a cell and step of time.")] = "100m,1min"
    min_samples: Annotated[int, typer.Option(help="Drop users with fewer samples.")] = 1
    columns: Columns = None
    where: Where = None
    memory: Annotated[
        str | None, typer.Option(help="Memory, e.g. 2GB: keep all stretches if they fit, else lists of neighbors.")
    ] = None

    def read(self) -> paths.Trajectories:
        """Read the samples; tell what was dropped."""
        found = paths.read_trajectories(
            self.source,
            self.bbox,
            columns=parse_columns(self.columns),
            where=self.where,
            step=self.step,
            min_samples=self.min_samples,
            memory=self.memory,
        )
        for text in found.notes:
            note(text)
        return found


@app.command("anonymize")
@takes(SampleOptions)
def anonymize(
    samples: SampleOptions,
    output: Output,
    k: Annotated[int, typer.Option("-k", help="Fewest users who share a trajectory.")] = 2,
    variant: Annotated[str, typer.Option(help="strict, absorb or loose.")] = "strict",
    max_extent: Annotated[str | None, typer.Option(help="Suppress samples with a larger box, e.g. 15km.")] = None,
    max_duration: Annotated[str | None, typer.Option(help="Suppress samples that last longer, e.g. 6h.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Merge trajectories with GLOVE until at least k users share each."""
    check_target(output, overwrite=overwrite)
    with progress() as doing:
        doing("reading")
        release = paths.anonymize(
            samples.read(),
            k,
            variant=variant,
            max_extent=max_extent,
            max_duration=max_duration,
            memory=samples.memory,
            tell=doing,
        )
        folder = release.write(output, overwrite=overwrite)
    if variant == "loose":
        note("loose groups tend to one giant group: strict and absorb keep more detail")
    typer.echo(_summary(release))
    typer.echo(f"wrote {folder.name}/ (safe to publish), {folder.name}.members.parquet and {folder.name}.audit.json")


@app.command("verify")
def verify(
    folder: ReleaseFolder, against: Against, columns: Columns = None, where: Where = None, as_json: AsJson = False
) -> None:
    """Check every promise of a release on the samples it was made from; exit 0 only if all hold."""
    with progress() as doing:
        doing("checking every promise")
        result = paths.verify(folder, against, columns=parse_columns(columns), where=where)
    if as_json:
        print_json({"verified": True, "groups": result.groups, "users": result.users, "checks": list(result.checks)})
        return
    for check in result.checks:
        typer.echo(f"  ok  {check}")
    typer.echo(f"verified: every promise of {folder} holds")


def _summary(release: paths.TrajectoryRelease) -> str:
    facts: dict[str, Any] = release.audit
    return (
        f"{facts['groups']:,} groups of {facts['users'] - facts['suppressed_users']:,} users"
        f" ({facts['suppressed_users']:,} suppressed, largest group {facts['largest_group']:,})\n"
        f"{facts['suppressed_rows'] / facts['rows']:.2%} of {facts['rows']:,} samples suppressed;"
        f" unsupported {facts['unsupported']:.1%} (members who were not seen in a sample)\n"
        f"promise: {release.manifest['promise_text']}"
    )
