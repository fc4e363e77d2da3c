"""flowveil trajectories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from flowveil import trajectories as paths
from flowveil._cli.figures import print_measures, print_nested
from flowveil._cli.options import (
    NUMBER,
    WHOLE,
    Against,
    AsJson,
    Columns,
    ContextFile,
    DescriptionOptions,
    Ground,
    Output,
    Overwrite,
    RegisterFile,
    ReleaseFolder,
    Report,
    ValueOptions,
    Where,
    given,
    number,
    takes,
    tell_input,
)
from flowveil._cli.terminal import note, print_json, progress
from flowveil._engine import DUCKDB, check_engine, describe_input
from flowveil._errors import InputError
from flowveil._folder import Kind, check_file, check_target, find_kind, find_release, find_target, private_file
from flowveil._options import AUTO, Keywords, parse_description, parse_max_suppression, parse_support, parse_users
from flowveil._report import check_ground
from flowveil._synthesis import evaluate_synthetic
from flowveil._trajectories import (
    DEFAULT_CAPS,
    DEFAULT_WEIGHTS,
    GLOVE,
    parse_baseline,
    parse_baseline_options,
    parse_blocks,
    parse_grouping,
    parse_known_points,
    parse_ks,
    parse_min_samples,
    parse_periods,
    parse_price,
)

Towers = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Towers (tower, lon, lat): samples then name a tower in place of coordinates."),
]
Plots = Annotated[Path | None, typer.Option("--plots", metavar="DIR", help="Draw SVG plots into this folder.")]
OverwritePlots = Annotated[bool, typer.Option("--overwrite", help="Replace plots that are already there.")]

app = typer.Typer(
    name="trajectories",
    help="Publish whole trajectories that at least k users share, or synthetic ones.",
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class SampleOptions(ValueOptions):
    """Which samples, and the grid they are put on."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Samples (user, lon, lat, time): CSV, Parquet or Arrow files, or a folder of cab files.",
        ),
    ]
    bbox: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="A public box, in degrees; samples outside are dropped.")
    ] = None
    step: Annotated[str, typer.Option(help="Edge of a cell and step of time.")] = "100m,1min"
    caps: Annotated[
        str, typer.Option(metavar="LENGTH,TIME", help="Stretch in space and time at which a sample says nothing more.")
    ] = DEFAULT_CAPS
    weights: Annotated[
        str, typer.Option(metavar="SPACE,TIME", help="How much space and time weigh against each other.")
    ] = DEFAULT_WEIGHTS
    min_samples: Annotated[
        int, number(parse=parse_min_samples, metavar=WHOLE, help="Drop users with fewer samples.")
    ] = 1
    columns: Columns = None
    where: Where = None
    towers: Towers = None
    memory: Annotated[
        str | None, typer.Option(help="Memory, e.g. 2GB: keep all stretches if they fit, else lists of neighbors.")
    ] = None

    def read(self, cut: CutOptions | None = None) -> paths.Trajectories:
        """Read the samples; tell what was dropped."""
        trajectories = paths.read_trajectories(
            self.source,
            self.bbox,
            columns=self.columns,
            where=self.where,
            towers=self.towers,
            step=self.step,
            caps=self.caps,
            weights=self.weights,
            min_samples=self.min_samples,
            memory=self.memory,
            cut_into=cut.cut_into if cut else None,
            timezone=cut.timezone if cut else None,
            **{item.name: getattr(self, item.name) for item in fields(ValueOptions)},
        )
        for text in trajectories.notes:
            note(text)
        return trajectories


@dataclass(frozen=True)
class CutOptions:
    """Whether long trajectories are cut."""

    cut_into: Annotated[
        str | None,
        typer.Option(metavar="PERIOD", help="Make a trajectory of each day or week of a user: day or week."),
    ] = None
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Where days begin, e.g. Europe/Brussels; default UTC.")
    ] = None


@app.command("anonymize")
@takes(SampleOptions, CutOptions, DescriptionOptions)
def anonymize(
    samples: SampleOptions,
    cut: CutOptions,
    description: DescriptionOptions,
    output: Output,
    k: Annotated[int, number("-k", parse=parse_users, metavar=WHOLE, help="Fewest users who share a trajectory.")] = 10,
    method: Annotated[
        str,
        typer.Option(
            help="glove: k users share whole trajectories; gather: all of them were in every sample; "
            "km: any few points fit k users."
        ),
    ] = GLOVE,
    known_points: Annotated[
        int | None,
        number(parse=parse_known_points, metavar=WHOLE, help="With km: points of a user that may be known; 2."),
    ] = None,
    max_suppression: Annotated[
        float | None,
        number(
            parse=parse_max_suppression, metavar=NUMBER, help="Largest share of samples left out; gather 0.1, km 0.5."
        ),
    ] = None,
    complete_support: Annotated[
        bool, typer.Option("--complete-support", help="With glove too: only samples in which every member was seen.")
    ] = False,
    price: Annotated[
        float | None, number(parse=parse_price, metavar=NUMBER, help="Of a sample, in place of a budget, e.g. 0.25.")
    ] = None,
    max_mean_extent: Annotated[
        str | None, typer.Option(help="Keep what a mean extent allows, e.g. 2km, in place of a budget.")
    ] = None,
    max_mean_duration: Annotated[
        str | None, typer.Option(help="Keep what a mean duration allows, e.g. 90min, in place of a budget.")
    ] = None,
    variant: Annotated[str, typer.Option(help="strict, absorb or loose.")] = "strict",
    max_extent: Annotated[str | None, typer.Option(help="Suppress samples with a larger box, e.g. 15km.")] = None,
    max_duration: Annotated[str | None, typer.Option(help="Suppress samples that last longer, e.g. 6h.")] = None,
    min_support: Annotated[
        int, number(parse=parse_support, metavar=WHOLE, help="Suppress samples in which fewer members were seen.")
    ] = 1,
    reshape: Annotated[
        bool, typer.Option(help="Cut samples of a group that overlap in time into disjoint ones.")
    ] = True,
    blocks: Annotated[
        str,
        number(parse=parse_blocks, metavar="N|auto", help="With glove: merge users of so many regions apart; auto."),
    ] = AUTO,
    engine: Annotated[str, typer.Option(help="What merges blocks: duckdb (this machine) or spark.")] = DUCKDB,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="With --engine spark: its cluster, e.g. spark://HOST:PORT.")
    ] = None,
    report: Report = False,
    ground: Ground = None,
    context: ContextFile = None,
    register: RegisterFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Publish trajectories that k users share, or of which any few points fit k users."""
    check_target(output, overwrite=overwrite)
    check_ground(ground, context, report=report)
    keywords: Keywords = {
        "method": method,
        "known_points": known_points,
        "max_suppression": max_suppression,
        "complete_support": complete_support,
        "price": price,
        "max_mean_extent": max_mean_extent,
        "max_mean_duration": max_mean_duration,
        "blocks": blocks,
        "variant": variant,
        "max_extent": max_extent,
        "max_duration": max_duration,
        "min_support": min_support,
        "reshape": reshape,
        "memory": samples.memory,
    }
    parse_grouping(k, **keywords)
    check_engine(engine, master)
    parse_periods(cut.cut_into, cut.timezone)
    said = given(description)
    parse_description(said, has_unit=True)
    with progress() as doing:
        doing("reading")
        data = samples.read(cut)
        keywords |= {"engine": engine, "master": master, "register": register}
        release = paths.anonymize(data, k, tell=doing, **keywords, **said)
        folder = release.write(output, overwrite=overwrite, report=report, ground=ground, context=context)
    for text in release.audit["notes"][len(data.notes) :]:
        note(text)
    typer.echo(_summary(release))
    private = f"{folder.name}.members.parquet and {folder.name}.audit.json (private)"
    typer.echo(f"wrote {folder.name}/ (safe to publish), {private} in {folder.resolve().parent}")


@app.command("verify")
def verify(
    folder: ReleaseFolder,
    against: Against,
    columns: Columns = None,
    where: Where = None,
    towers: Towers = None,
    context: ContextFile = None,
    as_json: AsJson = False,
) -> None:
    """Check every promise of a release on the samples it was made from; exit 0 only if all hold."""
    with progress() as doing:
        doing("checking every promise")
        result = paths.verify(folder, against, columns=columns, where=where, towers=towers, context=context)
    if as_json:
        numbers = {"groups": result.groups, "users": result.users}
        told = {"where": result.where, "columns": result.columns}
        print_json({"verified": True, **numbers, "checks": list(result.checks), **told})
        return
    for check in result.checks:
        typer.echo(f"  ok  {check}")
    for sentence in describe_input(result.where, result.columns):
        typer.echo(sentence)
    typer.echo(f"verified: every promise of {folder} holds")


@app.command("gap")
@takes(SampleOptions, CutOptions)
def gap(
    samples: SampleOptions,
    cut: CutOptions,
    k: Annotated[Any, number("-k", parse=parse_ks, metavar="K[,K]", help="Which k to measure.")] = "2,5,10",  # as Typer
    generalize: Annotated[bool, typer.Option(help="Also measure uniform generalization.")] = True,
    features: Annotated[
        bool, typer.Option("--features", help="Also anonymize days, a part of the map and shares of the users.")
    ] = False,
    within: Annotated[
        str | None, typer.Option(metavar="W,S,E,N", help="With --features, the part of the map, in degrees.")
    ] = None,
    plots: Plots = None,
    overwrite: OverwritePlots = False,
    as_json: AsJson = False,
) -> None:
    """Measure how far trajectories are from being shared by k users. The figures are private."""
    drawn = (*paths.Gap.PICTURES, *(paths.Features.PICTURES if features else ()))
    _check_plots(plots, drawn, overwrite=overwrite)
    if within is not None and not features:
        raise InputError("--within was given, but no parts are anonymized", "add --features")
    with progress() as doing:
        doing("reading")
        data = samples.read(cut)
        gaps = paths.gap(data, k, generalize=generalize, tell=doing)
        figures: dict[str, object] = {**gaps.figures()}
        pictures = gaps.pictures() if plots else {}
        if features:
            parts = paths.features(data, min(parse_ks(k)), within=within, tell=doing)
            measured = parts.figures()
            figures["features"] = {name: value for name, value in measured.items() if name != "units"}
            figures["units"] = {**gaps.figures()["units"], **measured["units"]}
            pictures |= parts.pictures() if plots else {}
    _draw(plots, pictures, overwrite=overwrite)
    _tell(figures, as_json)


@app.command("evaluate")
def evaluate(
    folder: ReleaseFolder,
    against: Against,
    columns: Columns = None,
    where: Where = None,
    towers: Towers = None,
    timezone: Annotated[str, typer.Option(help="Where nights and working hours are, e.g. Europe/Brussels.")] = "UTC",
    plots: Plots = None,
    overwrite: OverwritePlots = False,
    as_json: AsJson = False,
) -> None:
    """Measure accuracy, utility and unicity of a release against its input. The figures are private."""
    if find_kind(find_release(folder)) is Kind.SYNTHETIC:
        if plots is not None or timezone != "UTC":
            raise InputError(
                "synthetic trajectories are measured without plots, in the time zone that they were drawn in",
                "leave out --plots and --timezone",
            )
        measured_paths = evaluate_synthetic(folder, against, columns=columns, where=where, towers=towers)
        print_json(measured_paths) if as_json else print_measures(measured_paths)
        return
    _check_plots(plots, paths.TrajectoryEvaluation.PICTURES, overwrite=overwrite)
    with progress() as doing:
        doing("measuring")
        tell_input(folder, columns, where)
        measured = paths.evaluate(folder, against, columns=columns, where=where, towers=towers, timezone=timezone)
        figures = measured.figures()
    _draw(plots, measured.pictures() if plots else {}, overwrite=overwrite)
    _tell(figures, as_json)


@app.command("baseline")
@takes(SampleOptions)
def baseline(
    samples: SampleOptions,
    method: Annotated[str, number(parse=parse_baseline, metavar="<str>", help="w4m, nwa or tga.")] = "w4m",
    k: Annotated[int, number("-k", parse=parse_users, metavar=WHOLE, help="Fewest users of a cluster.")] = 2,
    delta: Annotated[str | None, typer.Option(help="w4m, nwa: disc that members are moved into; 2km.")] = None,
    radius: Annotated[str | None, typer.Option(help="w4m, nwa: first radius of clusters; 1km.")] = None,
    max_trash: Annotated[float | None, typer.Option(help="w4m, nwa: largest share in no cluster; 0.1.")] = None,
    chunk: Annotated[int | None, typer.Option(help="w4m: trajectories clustered at once; 2000.")] = None,
    granularity: Annotated[str | None, typer.Option(help="nwa: where trajectories begin and end; 1d.")] = None,
    seed: Annotated[int | None, typer.Option(help="tga: of random users; 0.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure an older method on the same samples, to compare with. It writes nothing."""
    asked: Keywords = {"delta": delta, "radius": radius, "max_trash": max_trash, "chunk": chunk}
    asked |= {"granularity": granularity, "seed": seed}
    parse_baseline_options(method, **asked)
    with progress() as doing:
        doing("reading")
        data = samples.read()
        doing(f"clustering {len(data):,} trajectories")
        figures = paths.baseline(data, method, k, **asked).figures()
    _tell(figures, as_json)


def _check_plots(folder: Path | None, names: Sequence[str], *, overwrite: bool) -> None:
    """Raise before any work if a plot may not be written."""
    if folder is None:
        return
    if find_target(folder, "folder").is_dir():
        for name in names:
            check_file(folder / name, overwrite=overwrite)
    elif folder.exists():
        raise InputError(f"{str(folder)!r} is not a folder to write plots to", "name a folder, e.g. --plots figures")


def _draw(folder: Path | None, pictures: dict[str, str], *, overwrite: bool) -> None:
    if folder is not None:
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, text in pictures.items():
            with private_file(folder / name, overwrite=overwrite) as new:
                new.write_text(text, encoding="utf-8")


def _tell(figures: Mapping[str, object], as_json: bool) -> None:
    if as_json:
        print_json(figures)
        return
    print_nested(figures)


def _summary(release: paths.TrajectoryRelease) -> str:
    facts = release.audit
    what = "groups" if "known_points" not in release.manifest["promise"] else "different trajectories"
    period = release.manifest["promise"].get("cut_into")
    lost = f"{facts['suppressed_trajectories']:,} of {facts['trajectories']:,} {period}s of users suppressed\n"
    cut = "" if period is None else lost
    return (
        f"{facts['groups']:,} {what} of {facts['users'] - facts['suppressed_users']:,} users"
        f" ({facts['suppressed_users']:,} suppressed, largest group {facts['largest_group']:,})\n{cut}"
        f"{facts['suppressed_rows'] / facts['rows']:.2%} of {facts['rows']:,} samples suppressed;"
        f" unsupported {facts['unsupported']:.1%} (members who were not seen in a sample)\n"
        f"promise: {release.manifest['promise_text']}"
    )
