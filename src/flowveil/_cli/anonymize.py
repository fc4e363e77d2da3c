"""flowveil anonymize."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli.noise import NoiseOptions
from flowveil._cli.noise import summary as noise_summary
from flowveil._cli.options import (
    NUMBER,
    WHOLE,
    ContextFile,
    DemandOptions,
    DescriptionOptions,
    ElsewhereFlag,
    Ground,
    Output,
    Overwrite,
    RegisterFile,
    RemaindersFlag,
    Report,
    SensitiveFile,
    TripOptions,
    given,
    number,
    takes,
    warn_of_one,
)
from flowveil._cli.terminal import count, note, progress, show, warn
from flowveil._engine import one_session
from flowveil._folder import check_target
from flowveil._matrices import choose_noise
from flowveil._methods import KEPT
from flowveil._options import (
    AUTO,
    parse_cell_key,
    parse_description,
    parse_hide_choice,
    parse_max_gbar,
    parse_max_suppression,
    parse_rounding,
    parse_sensitive_tiles,
)
from flowveil._release import parse_demand
from flowveil._report import check_ground

_NOTHING_LEFT_OUT = (
    "note: nothing is left out, so an area that is not divided tells of a small group in it; see --hide-choice"
)
_OF_NOISE = ("source", "method", "option", "epsilon")  # that are not about counting trips


@takes(TripOptions, DemandOptions, NoiseOptions, DescriptionOptions)
def anonymize(
    trips: TripOptions,
    demand: DemandOptions,
    noise: NoiseOptions,
    description: DescriptionOptions,
    output: Output,
    max_suppression: Annotated[
        float | None,
        number(parse=parse_max_suppression, metavar=NUMBER, help="Largest share of trips to leave out (default 0.1)."),
    ] = None,
    max_gbar: Annotated[
        float | None,
        number(
            parse=parse_max_gbar,
            metavar=NUMBER,
            help="In its place: precision to reach (mean tiles of both ends), leaving out the least.",
        ),
    ] = None,
    sensitive: SensitiveFile = None,
    sensitive_tiles: Annotated[
        int | None,
        number(
            parse=parse_sensitive_tiles,
            metavar=WHOLE,
            help="Fewest tiles of an area that touches a sensitive place (default 7).",
        ),
    ] = None,
    elsewhere: ElsewhereFlag = False,
    remainders: RemaindersFlag = False,
    hide_choice: Annotated[
        float | None,
        number(
            parse=parse_hide_choice,
            metavar=NUMBER,
            help="Chance that a secret draw keeps areas whole, so that they tell of no small group (0.5 is usual).",
        ),
    ] = None,
    protect_margins: Annotated[
        bool,
        typer.Option(
            "--protect-margins", help="Stay safe where others know how many trips start and end in each place."
        ),
    ] = False,
    rounding: Annotated[
        int | None,
        number(parse=parse_rounding, metavar=WHOLE, help="Round all numbers by chance to multiples of this base."),
    ] = None,
    cell_key: Annotated[
        int | None,
        number(parse=parse_cell_key, metavar=WHOLE, help="Change all numbers by at most this much, by chance."),
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What chance is drawn from: 64 hexadecimal digits (default: a new one)."),
    ] = None,
    report: Report = False,
    ground: Ground = None,
    context: ContextFile = None,
    totals: Annotated[
        bool, typer.Option("--totals", help="With --by: publish all groups together too, where that is safe.")
    ] = False,
    beside: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="An earlier release of the same data that readers may compare with."),
    ] = None,
    areas_from: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Use the areas of this earlier release, to compare with it.")
    ] = None,
    same_areas: Annotated[
        bool, typer.Option("--same-areas", help="Choose areas for all steps of time and groups at once, to compare.")
    ] = False,
    register: RegisterFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Turn trips into flows that are safe to publish."""
    check_target(output, overwrite=overwrite)
    check_ground(ground, context, report=report)
    steering = {"max_suppression": max_suppression, "max_gbar": max_gbar}
    together = {
        "sensitive": sensitive,
        "sensitive_tiles": sensitive_tiles,
        "elsewhere": elsewhere,
        "totals": totals,
        "remainders": remainders,
        "protect_margins": protect_margins,
        "rounding": rounding,
        "cell_key": cell_key,
        "secret": secret,
        "hide_choice": hide_choice,
        "beside": beside,
        "areas_from": areas_from,
        "same_areas": same_areas,
    }
    options, said = given(trips, demand, noise), given(description)
    if name := choose_noise(demand.method, noise.epsilon, options):
        others = steering | together
        options |= {option: value for option, value in others.items() if value is not None and value is not False}
        counting = {option: value for option, value in options.items() if option not in _OF_NOISE}
        with progress() as doing:
            noisy = fv.add_noise(
                trips.source,
                name,
                noise.epsilon or 0.0,
                options=demand.option,
                register=register,
                tell=doing,
                **counting,
                **said,
            )
            folder = noisy.write(output, overwrite=overwrite, report=report, ground=ground, context=context)
        for text in noisy.audit["notes"]:
            warn(text)
        _end(noise_summary(noisy), folder)
        return
    parse_description(said, has_unit=trips.unit is not None)
    keywords = demand.keywords() | steering | together
    asked = parse_demand(unit=trips.unit, counted_persons=trips.counts == "persons", by=trips.by or (), **keywords)
    if asked.rounding is not None or asked.cell_key is not None:
        note("published numbers are changed; the figures below are of true ones, and private")
    warn_of_one(asked.k, asked.k_weight)
    if max_suppression == 0 and asked.method.several and asked.chance is None:
        typer.echo(_NOTHING_LEFT_OUT, err=True)
    crowds = asked.method.cluster_options(
        asked.k,
        asked.k_weight,
        engine=trips.engine,
        loss=asked.loss,
        time_hierarchy=trips.time_hierarchy,
        elsewhere=elsewhere,
        totals=totals,
        beside=beside,
        remainders=remainders,
        hierarchy=trips.hierarchy,
        max_share=asked.max_share,
    )
    with one_session(), progress() as doing:
        doing("reading trips")
        flows = trips.flows(doing.rows, **crowds)
        parts = f" in {flows.matrix_count:,} matrices" if flows.matrix_count > 1 else ""
        doing(f"anonymizing {flows.total:,} trips{parts} with {demand.method}")
        release = fv.anonymize(flows, engine=trips.engine, master=trips.master, register=register, **keywords, **said)
        doing("writing")
        folder = release.write(output, overwrite=overwrite, report=report, ground=ground, context=context)
    _tell_of(release, flows, folder)


def _tell_of(release: fv.Release, flows: fv.Flows, folder: Path) -> None:
    """Say what was made, what is doubtful about it, and where it is."""
    for text in (*release.told, *register_notes(release)):
        note(text)
    for text in release.doubts:
        warn(text)
    lacks_rows = release.coverage is not None and release.coverage.lacks_rows
    doubtful = bool(release.doubts or flows.provenance.doubts or lacks_rows)
    private = [] if release.assignment is None else [".assignment.parquet"]
    _end(summary(flows, release), folder, private, doubtful=doubtful)


def _end(text: str, folder: Path, private: Sequence[str] = (), *, doubtful: bool = False) -> None:
    typer.echo(text)
    names = " and ".join(f"{folder.name}{ending}" for ending in (".audit.json", *private))
    verdict = "keeps its promise; mind the warnings before you publish it" if doubtful else "safe to publish"
    typer.echo(f"wrote {folder.name}/ ({verdict}) and {names} (private) in {folder.parent}")


def register_notes(release: fv.Release) -> list[str]:
    """Return what a register had to say of a release."""
    return [] if release.entry is None else list(release.entry.notes)


def summary(flows: fv.Flows, release: fv.Release) -> str:
    """Say in a few lines what a release holds and what was lost; private, as it tells exact figures."""
    figures = release.metrics()
    rest = figures.get("elsewhere")
    reported = f"{show(rest['trips'])} of these are reported as going elsewhere\n" if rest else ""
    parts, whole = figures.get("matrices"), figures.get("totals")
    withheld = f" ({show(parts['withheld'])} of them withheld as a whole)" if parts and parts["withheld"] else ""
    divided = (
        f"in {show(parts['count'])} {'step' if parts['count'] == 1 else 'steps'} of time or groups{withheld}\n"
        if parts
        else ""
    )
    added = (
        f"and {count(int(whole['flows']), 'flow')} of totals, with {count(int(whole['trips']), 'trip')}\n"
        if whole
        else ""
    )
    covered = "" if release.coverage is None else "".join(f"{text}\n" for text in release.coverage.told())
    automatic = release.manifest["promise"].get("k_weight") == AUTO
    mean = f"--k-weight auto is {show(figures['k_weight'])} people here (private)\n" if automatic else ""
    kept = "".join(f"{text}\n" for text in release.notes if KEPT in text)
    return (
        f"{count(figures['flows'], 'flow')} between {count(figures['origin_areas'], 'origin area')} and "
        f"{count(figures['destination_areas'], 'destination area')}, with {show(figures['trips'])} of "
        f"{count(flows.total, 'trip')} ({figures['suppressed']:.3%} left out)\n{divided}{added}{reported}{covered}"
        f"mean generalization error {show(figures['gbar'])} tiles (2 is none)\n{mean}{kept}"
        f"promise: {release.manifest['promise_text']}"
    )
