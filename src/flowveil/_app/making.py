"""Releases of all kinds: written, verified and drawn; and what is made of them afterwards."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import flowveil as fv
from flowveil._app.checks import refuse_bombs
from flowveil._app.words import in_words
from flowveil._export import find_format
from flowveil._folder import find_kind, read_files
from flowveil._kinds import RECORDS
from flowveil._report import make_map
from flowveil._risk import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._folder import Files, Json

    Tell = Callable[[str], None]

RELEASE = "out"
_NINETEEN_OF_TWENTY = math.log(20)  # scales of Laplace noise that 19 of 20 draws stay within


def add_noise(
    tell: Tell,
    trips: str,
    method: str,
    epsilon: float,
    options: dict[str, str],
    counting: dict[str, Any],  # of add_noise
    folder: str,
    *,
    report: bool,
) -> dict[str, Json]:
    """Make, write, verify and draw a release with noise. What it tells may be published: it is computed from there."""
    refuse_bombs(trips, "trips")
    release = fv.add_noise(trips, method, epsilon, options=options, tell=tell, **counting)
    facts = publish(tell, release, folder, None, report=report)
    scale = release.flows["scale"].to_numpy()
    return facts | {
        "notes": [in_words(note) for note in release.audit["notes"]],
        "counts": len(release.counts),
        "above_zero": int((release.counts > 0).sum()),
        "noisy_total": int(release.counts.sum()),
        "error": math.ceil(float(np.median(scale)) * _NINETEEN_OF_TWENTY) if len(scale) else None,
    }


def merge_paths(
    tell: Tell,
    trips: str,
    reading: dict[str, Any],  # of read_trajectories
    grouping: dict[str, Any],  # of trajectories.anonymize
    folder: str,
    *,
    report: bool,
) -> dict[str, Json]:
    """Make, write, verify and draw a release of trajectories."""
    release = fv.trajectories.anonymize(_read_paths(tell, trips, reading), tell=tell, **grouping)
    facts = publish(tell, release, folder, trips, report=report)
    audit = release.audit
    counts = {name: value for name, value in audit.items() if isinstance(value, int | float)}
    return facts | {"paths": counts, "notes": [in_words(note) for note in audit["notes"]]}


def follow_paths(
    tell: Tell,
    trips: str,
    reading: dict[str, Any],  # of read_trajectories
    demand: dict[str, Any],  # of trajectories.frontier
) -> dict[str, Json]:
    """Return the frontier of trajectories as rows, and how many samples there are."""
    data = _read_paths(tell, trips, reading)
    points = fv.trajectories.frontier(data, tell=tell, **demand).to_pylist()
    return {"samples": int(data.rows.sum()), "points": points}


def _read_paths(
    tell: Tell,
    trips: str,
    reading: dict[str, Any],  # of read_trajectories
) -> fv.trajectories.Trajectories:
    tell("reading samples")
    refuse_bombs(trips, "trips")
    return fv.trajectories.read_trajectories(trips, **reading)


def publish(
    tell: Tell,
    release: fv.Release | fv.NoisyRelease | fv.trajectories.TrajectoryRelease,
    folder: str,
    trips: str | None,
    *,
    report: bool,
) -> dict[str, Json]:
    """Write, verify and draw a release and return what it promises; trips: against which, None for noise."""
    tell("writing the release")
    written = release.write(Path(folder) / RELEASE, report=report)
    tell("verifying the release against the trips" if trips else "verifying the release")
    verification = fv.verify(written, trips)
    tell("drawing the map")
    draw(read_files(written), Path(folder), "map")
    promised = release.manifest
    return {
        "promise": promised["promise_text"],
        "absence": promised.get("absence", ""),
        "checks": list(verification.checks),
        "notes": [],
    }


def draw(files: Files, folder: Path, name: str) -> None:
    """Write the map of a release into a folder: a page, computed from its files alone."""
    (folder / f"{name}.html").write_text(make_map(RECORDS[files.kind].show(files)), encoding="utf-8")


def export(tell: Tell, release: str, to: str, folder: str) -> dict[str, Json]:
    """Write a release in a format of other tools."""
    tell(f"writing {to}")
    form, kind = find_format(to), find_kind(Path(release))
    content = "flows" if kind is None else kind.tables[0].removesuffix(".parquet")
    made = fv.export(release, to, Path(folder) / (to if form.files else f"{content}{form.ending}"))
    return {"flows": made.flows, "left_out": made.left_out}


def attack(tell: Tell, release: str, trips: str) -> dict[str, Json]:
    """Attack a release as a stranger would, and say what came of it. Private: claims are checked against the trips."""
    tell("attacking the release")
    found = fv.risk(release, trips, attacks=QUICK, progress=tell)
    return {
        "worst": found.worst,
        "findings": [{name: in_words(text) for name, text in one.items()} for one in found.in_full()],
    }


def private_report(tell: Tell, release: str, trips: str) -> dict[str, Json]:
    """Write the page that shows what was lost, beside the release."""
    tell("comparing the release with the trips")
    fv.report(release, trips, overwrite=True)
    return {}
