"""The commands that are broken off, on small inputs, and what each may leave: all as before, or all as after."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import zipfile
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import flowveil as fv
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, City, phones

if TYPE_CHECKING:
    from pathlib import Path

CITY, PHONES = (",".join(map(str, box)) for box in (CITY_BBOX, PHONES_BBOX))
INPUTS = ("trips.parquet", "samples.parquet", "zones.parquet", "given", "given.audit.json")
MAKE = ("anonymize", "trips.parquet", "--grid", "h3:6", "--hierarchy", "h3", "--unit", "person_id", "-k", "5")
NOISE = ("anonymize", "trips.parquet", "--epsilon", "2", "--bbox", CITY, "--grid", "h3:4")
PATHS = ("trajectories", "anonymize", "samples.parquet", "-k", "2", "--bbox", PHONES, "--step", "5km,4h")
STOPS = ("--stop-radius", "2km", "--stop-time", "1h", "--max-gap", "12h")
STUDY = ("study", "trips.parquet", "--grid", "h3:5", "--methods", "suppression", "-k", "3,5")
EXCEL = ("export", "given", "--to", "excel", "-o", "out.xlsx")
DRAWN = (
    "trajectories",
    "synthesize",
    "samples.parquet",
    "--epsilon",
    "5",
    "--bbox",
    PHONES,
    "--days",
    "2024-03-04,2024-03-06",
    "--step",
    "5km,4h",
    "--users",
    "3",
)


@dataclass(frozen=True)
class Command:
    """A command, and what is there before it: a release to overwrite, a register with one."""

    name: str
    arguments: tuple[str, ...]
    before: tuple[str, ...] | None = None  # the command that made what is there
    by_chance: bool = False  # no two runs write the same: what is there is looked at, and not compared


COMMANDS = (
    Command("anonymize", (*MAKE, "-o", "out")),
    Command("anonymize --report", (*MAKE, "--report", "-o", "out")),
    Command("anonymize --overwrite", (*MAKE, "-o", "out", "--overwrite"), (*MAKE, "--min-tiles", "2", "-o", "out")),
    Command(
        "anonymize --register",
        (*MAKE, "--by", "sex", "--max-suppression", "1", "--register", "all.register", "-o", "out"),
        by_chance=True,
    ),
    Command("anonymize --epsilon", (*NOISE, "-o", "out"), by_chance=True),
    Command("trajectories anonymize", (*PATHS, "-o", "out")),
    Command("trajectories synthesize", (*DRAWN, "-o", "out"), by_chance=True),
    Command("trips", ("trips", "samples.parquet", *STOPS, "-o", "made.parquet", "--stops-file", "stops.parquet")),
    Command("export csv", ("export", "given", "--to", "csv", "-o", "out")),
    Command("export gpkg", ("export", "given", "--to", "gpkg", "-o", "out.gpkg"), by_chance=True),
    Command("export excel --overwrite", (*EXCEL, "--overwrite"), EXCEL, by_chance=True),
    Command("report", ("report", "given")),
    Command("report --against", ("report", "given", "--against", "trips.parquet")),
    Command("sample", ("sample", "given", "--trips", "20", "--seed", "1", "-o", "drawn.csv")),
    Command("reconstruct", ("reconstruct", "given", "--zones", "zones.parquet", "-o", "between.parquet")),
    Command("demo", ("demo", "-o", "out")),
    Command("study", (*STUDY, "-o", "out"), by_chance=True),
)  # fmt: skip


def make_inputs(folder: Path) -> None:
    """Write what commands read."""
    city = City(seed=1, persons=60)
    pq.write_table(city.trips(500), folder / "trips.parquet")
    pq.write_table(city.zones(), folder / "zones.parquet")
    pq.write_table(phones(6), folder / "samples.parquet")
    flows = fv.build_flows(folder / "trips.parquet", "h3:6", hierarchy="h3", unit="person_id")
    fv.anonymize(flows, k=5).write(folder / "given")


def prepare(folder: Path, inputs: Path) -> None:
    """Put a copy of the inputs into an empty folder."""
    shutil.copytree(inputs, folder)
    folder.with_name("temporary").mkdir(exist_ok=True)


@cache
def shrink_demo() -> None:
    """Let the demo make a small city: the same steps, and less to count."""
    from flowveil import _synthetic
    from flowveil._cli import demo

    def small(path: Path) -> None:
        pq.write_table(City(seed=1, persons=300).trips(2_000), path)

    demo.write_demo_city = small
    del _synthetic


def units(folder: Path) -> dict[str, dict[str, str]]:
    """Return what is in a folder, by what appears together: a release with what is beside it, or a file."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            name = str(path.relative_to(folder))
            together = (
                name
                if name.endswith((".trips.parquet", ".xlsx", ".gpkg"))
                else name.split("/", maxsplit=1)[0].split(".", maxsplit=1)[0]
            )
            together = (
                name if "private.html" in name or (name.endswith("report.html") and together == "given") else together
            )
            found.setdefault(together, {})[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def settle(folder: Path) -> None:
    """Let flowveil look at each release, as the next command would: it completes or undoes what was broken off."""
    for name in ("out", "given"):
        try:
            fv.read_release(folder / name)
        except fv.InputError:
            continue


def wrong(command: Command, folder: Path, before: dict, after: dict) -> str | None:
    """Return what is wrong with what a run left that was broken off, None if nothing is."""
    settle(folder)
    here = units(folder)
    for name in {*here, *before, *after}:
        state = here.get(name)
        if command.by_chance:
            if (
                state is not None
                and state != before.get(name)
                and (what := _partial(command, folder, name, state, after))
            ):
                return what
            if state is None and name in before:
                return f"{name} is gone"
        elif state not in (before.get(name), after.get(name)):
            return f"{name} is neither as before nor as after: {sorted(state or ())}"
    return None


def _partial(command: Command, folder: Path, name: str, state: dict, after: dict) -> str | None:
    """Return what is missing of something that is no two times the same."""
    if command.name == "study":
        return None  # it writes what is done, and goes on: the next run shows it
    if name == "all":
        register = fv.register(folder / "all.register")
        return (
            "a release is out that the register does not know"
            if (folder / "out").exists() and not len(register.releases)
            else None
        )
    if set(state) != set(after.get(name, ())):
        return f"{name} has {sorted(state)}"
    if name.endswith(".xlsx") and zipfile.ZipFile(folder / name).testzip():
        return f"{name} is damaged"
    if name.endswith(".gpkg") and sqlite3.connect(folder / name).execute("PRAGMA integrity_check").fetchone() != (
        "ok",
    ):
        return f"{name} is damaged"
    audit = folder / f"{name}.audit.json"
    if audit.exists():
        for file in json.loads(audit.read_text())["files"]:
            if hashlib.sha256((folder / name / file["name"]).read_bytes()).hexdigest() != file["sha256"]:
                return f"{name}: {file['name']} is not what its audit file says"
    return None


def hidden(folder: Path) -> list[str]:
    """Return what should not be there when nothing runs: hidden files, and temporary ones."""
    left = [str(path.relative_to(folder)) for path in folder.rglob(".*")]
    return left + [path.name for path in folder.with_name("temporary").iterdir()]


def told_well(told: str, code: int) -> str | None:
    """Return what is wrong with how a failure was told."""
    if code < 0:
        return f"ended by signal {-code}"
    if "this is a bug" in told or "Traceback" in told:
        return (
            "a bug: "
            + " | ".join(line.strip() for line in told.splitlines() if "Error" in line or "File " in line)[-400:]
        )
    if code and "error: " not in told:
        return f"nothing was said (exit code {code}): {told[-300:]}"
    return None


def clear(folder: Path) -> None:
    """Remove a folder, and the temporary files of what ran there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(folder.with_name("temporary"), ignore_errors=True)
    os.makedirs(folder.with_name("temporary"), exist_ok=True)  # noqa: PTH103
