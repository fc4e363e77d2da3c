"""The command line as a whole: every command with options by chance, right ones and wrong ones."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import typer

from flowveil._cli.commands import find_app, run
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX
from reliability.fuzzing.changing import NUMBERS, TEXTS
from reliability.fuzzing.folders import FORMATS, originals
from reliability.fuzzing.target import Broken, Target

if TYPE_CHECKING:
    from pathlib import Path

LEFT_OUT = {"serve", "demo", "doctor"}  # these wait for visitors, make a large city, and try the machine
SELDOM = {"study": 0.03, "compare": 0.05}  # these start processes
CITY, PHONES = (",".join(map(str, box)) for box in (CITY_BBOX, PHONES_BBOX))
GOOD = {
    "grid": ("h3:6", "h3:5", "h3:7", "quadtree:4000"),
    "hierarchy": ("h3", "h3-binary", "lattice", "quadtree", "ward", "many", "zone_id,district,region"),
    "crs": ("EPSG:32631",),
    "bbox": (CITY, CITY, PHONES),
    "origin_bbox": (CITY,),
    "destination_bbox": (CITY,),
    "columns": ("start_lon=start_lon", "count=", "start_time=end_time"),
    "where": ("sex = 'f'", "person_id > 'p0000010'", "start_time >= '2024-03-06'", "weight > 1"),
    "unit": ("person_id", "person_id", "trip_id"),
    "weight": ("weight",),
    "trip_weight": ("weight",),
    "time": ("1d", "hour-of-day", "day-type", "week", "6h"),
    "time_hierarchy": ("6h<day", "hour-of-day<part-of-day<day"),
    "timezone": ("Europe/Rome", "UTC", "America/New_York"),
    "by": ("sex", "sex,age_group"),
    "groups": ("sex=female,male",),
    "memory": ("1GB", "200MB"),
    "engine": ("duckdb",),
    "method": (
        *(
            "mosaic",
            "nested",
            "crosscut",
            "suppression",
            "odkanon",
            "oigh",
            "knapsack",
            "mondrian",
            "glove-od",
            "glove-sk",
        ),
        *(
            "uniform-tiles",
            "atg-dual",
            "atg-soft",
            "laplace",
            "noisy-mosaic",
            "uniform",
            "daf-entropy",
            "glove",
            "gather",
            "km",
        ),
    ),
    "k": ("2", "5", "5", "10"),
    "k_weight": ("auto", "10x", "500"),
    "preset": ("mds-10",),
    "max_suppression": ("1", "0.3", "20%"),
    "max_gbar": ("20", "1000"),
    "loss": ("tiles", "metres", "area", "reconstruction"),
    "option": (
        "budget=each",
        "keep_safe=true",
        "steps=3",
        "levels=2",
        "side=origin",
        "consistent=true",
        "v_target=100",
    ),
    "epsilon": ("1", "0.5", "1,2"),
    "protect": ("person", "trip", "person-day", "window:2"),
    "max_trips_per_person": ("3", "auto"),
    "cells": ("4", "16"),
    "ends": ("origin", "both"),
    "frames": ("morning=6-10,evening=17-21",),
    "period": ("2024-03", "2024-03-04/2024-03-17"),
    "to": FORMATS,
    "format": FORMATS,
    "step": ("2km,60min", "5km,4h"),
    "days": ("2024-03-04,2024-03-06",),
    "max_extent": ("15km",),
    "max_duration": ("6h",),
    "variant": ("strict", "absorb", "loose"),
    "cut_into": ("day", "week"),
    "rounding": ("2", "5"),
    "cell_key": ("1", "3"),
    "hide_choice": ("0.5",),
    "count": ("10",),
    "points": ("3",),
    "seed": ("1",),
    "decimal": (",", "."),
    "encoding": ("cp1252",),
    "layout": ("",),
    "rule": ("stops", "runs"),
    "attacks": ("exact", "repeats", "minimality"),
    "methods": ("mosaic,crosscut", "all"),
    "spread": ("even", "learned"),
    "weights": ("1,1", "20km,8h"),
    "min_support": ("2",),
    "users": ("3",),
}


@cache
def all_commands() -> dict[str, list]:
    """Return the parameters of every command."""
    found: dict[str, list] = {}

    def add(command: typer.core.TyperGroup, before: tuple[str, ...]) -> None:
        for name, below in command.commands.items():
            if hasattr(below, "commands"):
                add(below, (*before, name))
            elif name not in LEFT_OUT:
                found[" ".join((*before, name))] = below.params

    add(typer.main.get_command(find_app()), ())
    return found


def files() -> dict[str, list[str]]:
    """Return what paths may name, by what a parameter is for."""
    releases, room = originals()
    folders = [str(path) for path in releases.values()]
    inputs = [str(room / f"{name}.parquet") for name in ("trips", "zone_trips", "samples")]
    odd = ["nowhere", "", ".", "/dev/null", "a" * 300, str(room), "out\n", "\udcff"]
    return {
        "input": [*inputs, *inputs, *inputs, *odd],
        "dir": [*folders, *folders, *odd],
        "zones": [str(room / "zones.parquet"), *odd],
    }


def draw(chance: Random) -> list[str]:
    """Return the arguments of a command."""
    name = chance.choice(sorted(all_commands()))
    while chance.random() > SELDOM.get(name, 1.0):
        name = chance.choice(sorted(all_commands()))
    arguments = name.split()
    samples = arguments[0] == "trajectories" or arguments[0] == "trips"
    hostile = chance.choice((0.0, 0.0, 0.05, 0.3))
    for parameter in all_commands()[name]:
        needed = parameter.param_type_name == "argument" or parameter.required
        if parameter.name in {"version", "help"} or chance.random() < (hostile / 3 if needed else 0.85):
            continue
        written = [max(parameter.opts, key=len)] if parameter.param_type_name == "option" else []
        if getattr(parameter, "is_flag", False):
            arguments += written
            continue
        value = _value(chance, parameter, hostile, samples=samples)
        arguments += [f"{written[0]}={value}"] if written and value.startswith("-") else [*written, value]
    if samples and "anonymize" in arguments and chance.random() < 0.7:
        arguments += ["--step", "2km,60min"]
    if arguments[0] == "anonymize" and "--grid" not in arguments and "--zones" not in arguments:
        arguments += chance.choice((["--grid", "h3:6"], ["--zones", files()["zones"][0]], []))
    return arguments


def _value(chance: Random, parameter: object, hostile: float, *, samples: bool) -> str:
    name, meta = parameter.name, str(parameter.metavar or "")
    if chance.random() < hostile:
        return chance.choice((*TEXTS, *NUMBERS)).decode("utf-8", "surrogateescape").replace("\0", "")
    if name == "output":
        return chance.choice(("out", "out", "out", "out/x", "nowhere/out", "."))
    if name in GOOD:
        return chance.choice(GOOD[name])
    there = files()
    if meta == "INPUT" or name in {"source", "against"}:
        return there["input"][
            2 if samples and chance.random() < 0.8 else chance.choice((0, 0, 1, chance.randrange(len(there["input"]))))
        ]
    if meta == "DIR" or "release" in name:
        return chance.choice(there["dir"])
    if "zones" in name or name in {"sensitive", "context", "places", "towers"}:
        return chance.choice(there["zones"])
    return chance.choice(("1", "2", "0.5", "a", "new", "all.register", "new.csv"))


def run_command(data: bytes, folder: Path) -> None:
    """Run a command, and look at how it ends and what it leaves."""
    chance = Random(data)
    arguments = draw(chance)
    if chance.random() < 0.2:
        shutil.copytree(originals()[0]["flows"], folder / "out")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    output, complaints = io.StringIO(), io.StringIO()
    os.chdir(folder)
    os.environ["FLOWVEIL_DEBUG"] = "1"
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
            code = run(arguments)
    finally:
        os.chdir("/")
    told = complaints.getvalue()
    shown = f"{arguments}\n{told[-3000:]}"
    if "this is a bug" in told or "Traceback" in told:
        frames = [
            line.strip() for line in told.splitlines() if line.lstrip().startswith("File ") and "flowveil/_" in line
        ]
        place = frames[-1].rpartition("/")[2].replace('"', "") if frames else "?"
        raise Broken(f"a bug in {arguments[0]} {place}: {shown}")
    if code not in {0, 1, 2}:
        raise Broken(f"exit code {code} of {arguments[0]}: {shown}")
    if code and not ("error: " in told and "\nhint: " in told) and "Usage:" not in told + output.getvalue():
        raise Broken(f"{arguments[0]} fails without a word: {shown}")
    hidden = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    if hidden:
        raise Broken(f"{arguments[0]} leaves {hidden[0].partition('-')[0]}: {hidden} {shown}")
    if code and (
        lost := [path.name for path, content in before.items() if not path.is_file() or path.read_bytes() != content]
    ):
        raise Broken(f"{arguments[0]} fails and changes {lost[0]}: {shown}")
    if code == 2 and (
        new := [
            path.name
            for path in folder.rglob("*")
            if path.is_file() and path not in before and path.suffix != ".register"
        ]
    ):
        raise Broken(f"{arguments[0]} refuses and writes {new[0]}: {shown}")


COMMANDS = (Target("command line", run_command, batch=300, seconds=120.0, share=4.0, begin=originals),)
