"""flowveil trajectories synthesize."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import typer

from flowveil import trajectories as paths
from flowveil._cli.options import (
    NUMBER,
    WHOLE,
    Columns,
    ContextFile,
    DescriptionOptions,
    Ground,
    Output,
    Overwrite,
    RegisterFile,
    Report,
    ValueOptions,
    Where,
    given,
    number,
    takes,
)
from flowveil._cli.terminal import note, progress
from flowveil._cli.trajectories import Towers
from flowveil._folder import check_target
from flowveil._options import parse_description, parse_epsilon
from flowveil._report import check_ground
from flowveil._synthesis import parse_days, parse_drawn, parse_seed
from flowveil._trajectories import parse_min_samples, read_whoever


@dataclass(frozen=True)
class SynthesisOptions(ValueOptions):
    """Which samples, where and when."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Samples (user, lon, lat, time): CSV, Parquet or Arrow files, or a folder of cab files.",
        ),
    ]
    epsilon: Annotated[
        float,
        number(
            parse=parse_epsilon,
            metavar=NUMBER,
            help="How much one user, with all samples, may change; less is safer.",
        ),
    ]
    days: Annotated[
        str, typer.Option(metavar="FIRST,LAST", help="Public days, e.g. 2024-03-04,2024-03-17; others are dropped.")
    ]
    bbox: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="A public box, in degrees; samples outside are dropped.")
    ] = None
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Where days begin, e.g. Europe/Brussels; default UTC.")
    ] = None
    step: Annotated[str, typer.Option(help="Edge of a cell and step of time.")] = "100m,1min"
    min_samples: Annotated[
        int, number(parse=parse_min_samples, metavar=WHOLE, help="Drop users with fewer samples.")
    ] = 1
    users: Annotated[
        int | None,
        number(parse=parse_drawn, metavar=WHOLE, help="Users to draw; default: as many as there are, with noise."),
    ] = None
    seed: Annotated[
        int | None, number(parse=parse_seed, metavar=WHOLE, help="Draw the same users from the same noisy counts.")
    ] = None
    columns: Columns = None
    where: Where = None
    towers: Towers = None
    memory: Annotated[str | None, typer.Option(help="Memory for reading, e.g. 2GB.")] = None

    def read(self) -> paths.Trajectories:
        """Read the samples."""
        return read_whoever(
            self.source,
            self.bbox,
            self.memory,
            columns=self.columns,
            where=self.where,
            towers=self.towers,
            step=self.step,
            min_samples=self.min_samples,
            **{item.name: getattr(self, item.name) for item in fields(ValueOptions)},
        )


@takes(SynthesisOptions, DescriptionOptions)
def synthesize(
    asked: SynthesisOptions,
    description: DescriptionOptions,
    output: Output,
    report: Report = False,
    ground: Ground = None,
    context: ContextFile = None,
    register: RegisterFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Publish synthetic trajectories under differential privacy: drawn from noisy counts, nobody's own."""
    check_target(output, overwrite=overwrite)
    check_ground(ground, context, report=report)
    parse_days(asked.days, asked.timezone)
    said = given(description)
    parse_description(said, has_unit=True)
    with progress() as doing:
        doing("reading")
        data = asked.read()
        release = paths.synthesize(
            data,
            asked.epsilon,
            days=asked.days,
            timezone=asked.timezone,
            users=asked.users,
            seed=asked.seed,
            register=register,
            tell=doing,
            **said,
        )
        folder = release.write(output, overwrite=overwrite, report=report, ground=ground, context=context)
    for text in release.audit["notes"]:
        note(text)
    users = release.samples["user"][-1].as_py() + 1
    typer.echo(
        f"{release.samples.num_rows:,} samples of {users:,} synthetic users, "
        f"on a map of {release.places.num_rows:,} places\n"
        f"promise: {release.manifest['promise_text']}"
    )
    private = f"{folder.name}.audit.json (private)"
    typer.echo(f"wrote {folder.name}/ (safe to publish), {private} in {folder.resolve().parent}")
