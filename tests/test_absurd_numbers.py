"""Numbers that nobody can mean are refused with `error:` and `hint:`, or work: they never end as a bug."""

from __future__ import annotations

import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowveil import methods
from flowveil._cli.commands import run
from flowveil.synthetic import CITY_BBOX, phones
from tests.test_bad_input import BOX, ROWS, TRIPS
from tests.test_command_line import COMMANDS

HUGE = "1" + "0" * 30
NUMBERS = ("nan", "inf", "-inf", "1e30", "1e308", "1e400", "1e-320", "-1", "0", HUGE, f"-{HUGE}", "9" * 5_000, "")
FEW = ("nan", "1e30", HUGE, "-1")  # for commands that take long
ALWAYS = ("nan", "-1", HUGE, "")  # of all others, each option meets a part, and each number a part of the options
CITY_BOX = "--bbox=" + ",".join(map(str, CITY_BBOX))
TRIP_WORDS = ["IN/trips.parquet", "--grid", "h3:8"]
FLOWS = ["anonymize", *TRIP_WORDS, "-o", "OUT/out"]
NOISE = ["anonymize", "IN/trips.parquet", BOX, "--epsilon", "1", "-o", "OUT/out"]
BOXES = [*NOISE, "--method", "daf-entropy"]
PATHS = ["trajectories", "anonymize", "IN/samples.parquet", "-k", "2", "-o", "OUT/out"]
ADVISE = ["advise", "--epsilon", "1", "--trips", "100", "--cells", "10"]
COMPARE = ["compare", *TRIP_WORDS, "--methods", "suppression"]
STUDY = ["study", *TRIP_WORDS, "--methods", "suppression", "-o", "OUT/out"]
DAYS = ["--days", "2024-03-04,2024-03-05", "--epsilon", "1", "-o", "OUT/out"]
SYNTHESIZE = ["trajectories", "synthesize", "IN/samples.parquet", CITY_BOX, *DAYS]

# Command and option: words to which the option is added as `--option=...`, with a number in place of #.
CASES = {
    "anonymize -k": (FLOWS, "#"),
    "anonymize --k-weight": ([*FLOWS, "--weight", "weight"], "#"),
    "anonymize --max-suppression": (FLOWS, "#"),
    "anonymize --max-gbar": (FLOWS, "#"),
    "anonymize --min-tiles": (FLOWS, "#"),
    "anonymize --max-share": ([*FLOWS, "--unit", "person_id"], "#"),
    "anonymize --sensitive-tiles": ([*FLOWS, "--sensitive", "IN/clinics.csv"], "#"),
    "anonymize --rounding": (FLOWS, "#"),
    "anonymize --cell-key": (FLOWS, "#"),
    "anonymize --hide-choice": (FLOWS, "#"),
    "anonymize --epsilon": (["anonymize", "IN/trips.parquet", BOX, "-o", "OUT/out"], "#"),
    "anonymize --max-trips-per-person": ([*BOXES, "--cells", "20", "--unit", "person_id"], "#"),
    "anonymize --cells": (BOXES, "#"),
    "anonymize --max-unusable": (FLOWS, "#"),
    "anonymize --time": (FLOWS, "#h"),
    "anonymize --time-hierarchy": (FLOWS, "#h<day"),
    "anonymize --grid": (FLOWS, "h3:#"),
    "anonymize --grid of squares": ([*FLOWS, BOX], "quadtree:#"),
    "anonymize --crs": ([*FLOWS, BOX, "--grid", "quadtree:1000"], "EPSG:#"),
    "anonymize --bbox": (FLOWS, "#,50.2,4.9,50.6"),
    "anonymize --memory": (FLOWS, "#GB"),
    "anonymize --frames": (
        ["anonymize", "IN/samples.parquet", CITY_BOX, "--epsilon", "1", "--method", "daf-entropy", "-o", "OUT/out"],
        "day=#-10",
    ),
    "frontier --max-unusable": (["frontier", *TRIP_WORDS], "#"),
    "frontier --points": (["frontier", *TRIP_WORDS], "#"),
    "frontier -k": (["frontier", *TRIP_WORDS], "#"),
    "frontier --k-weight": (["frontier", *TRIP_WORDS, "--weight", "weight"], "#"),
    "frontier --min-tiles": (["frontier", *TRIP_WORDS], "#"),
    "frontier --max-share": (["frontier", *TRIP_WORDS, "--unit", "person_id"], "#"),
    "evaluate -k": (["evaluate", "IN/flows", "--against", "IN/trips.parquet"], "#"),
    "evaluate --k-weight": (["evaluate", "IN/flows", "--against", "IN/trips.parquet", "--weight", "weight"], "#"),
    "query --origin-bbox": (["query", "IN/noisy"], "#,50.2,4.9,50.6"),
    "query --place-bbox": (["query", "IN/noisy"], "origin=4.4,50.2,4.9,#"),
    "serve --port": (["serve", "--upload-limit", "nothing"], "#"),
    "serve --upload-limit": (["serve", "--port", "-1"], "#GB"),
    "register --epsilon-budget": (["register", "OUT/register"], "#"),
    "register --forget": (["register", "IN/register"], "#"),
    "trips --max-unusable": (["trips", "IN/samples.parquet", "-o", "OUT/trips.parquet"], "#"),
    "trips --short-stops": (["trips", "IN/samples.parquet", "-o", "OUT/trips.parquet"], "#"),
    "advise --epsilon": (ADVISE, "#"),
    "advise --trips": (ADVISE, "#"),
    "advise --max-trips-per-person": (ADVISE, "#"),
    "advise --cells": (ADVISE, "#"),
    "trajectories anonymize -k": ([*PATHS, CITY_BOX], "#"),
    "trajectories anonymize --min-support": ([*PATHS, CITY_BOX], "#"),
    "trajectories anonymize --known-points": ([*PATHS, CITY_BOX, "--method", "km"], "#"),
    "trajectories anonymize --max-suppression": ([*PATHS, CITY_BOX, "--method", "gather"], "#"),
    "trajectories anonymize --price": ([*PATHS, CITY_BOX, "--method", "gather"], "#"),
    "trajectories anonymize --max-extent": ([*PATHS, CITY_BOX], "#km"),
    "trajectories anonymize --max-duration": ([*PATHS, CITY_BOX], "#h"),
    "trajectories anonymize --step": ([*PATHS, CITY_BOX], "#m,1min"),
    "trajectories anonymize --step of time": ([*PATHS, CITY_BOX], "100m,#h"),
    "trajectories anonymize --min-samples": ([*PATHS, CITY_BOX], "#"),
    "trajectories anonymize --bbox": (PATHS, "#,50.2,4.9,50.6"),
    "trajectories anonymize --memory": ([*PATHS, CITY_BOX], "#GB"),
    "trajectories anonymize --caps": ([*PATHS, CITY_BOX], "#km,8h"),
    "trajectories anonymize --weights": ([*PATHS, CITY_BOX], "#,1"),
    "trajectories baseline --delta": (["trajectories", "baseline", "IN/samples.parquet", CITY_BOX], "#km"),
    "trajectories baseline --max-trash": (["trajectories", "baseline", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories baseline --chunk": (["trajectories", "baseline", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories baseline --seed": (
        ["trajectories", "baseline", "IN/samples.parquet", CITY_BOX, "--method", "tga"],
        "#",
    ),
    "trajectories frontier -k": (["trajectories", "frontier", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories frontier --points": (["trajectories", "frontier", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories frontier --min-samples": (["trajectories", "frontier", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories frontier --min-support": (["trajectories", "frontier", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories gap -k": (["trajectories", "gap", "IN/samples.parquet", CITY_BOX], "2,#"),
    "trajectories gap --min-samples": (["trajectories", "gap", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories baseline -k": (["trajectories", "baseline", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories baseline --min-samples": (["trajectories", "baseline", "IN/samples.parquet", CITY_BOX], "#"),
    "trajectories synthesize --epsilon": (SYNTHESIZE, "#"),
    "trajectories synthesize --min-samples": (SYNTHESIZE, "#"),
    "trajectories synthesize --users": (SYNTHESIZE, "#"),
    "trajectories synthesize --seed": (SYNTHESIZE, "#"),
    "study --min-tiles": (STUDY, "#"),
    "study --least-trips": (STUDY, "#"),
    "study --sample": (STUDY, "#"),
    "study --time-limit": (STUDY, "#"),
    "study --processes": (STUDY, "#"),
    "study --max-unusable": (STUDY, "#"),
    "compare -k": (COMPARE, "#"),
    "compare --k-weight": ([*COMPARE, "--weight", "weight"], "#"),
    "compare --min-tiles": (COMPARE, "#"),
    "compare --max-suppression": (COMPARE, "#"),
    "compare --epsilon": ([*COMPARE, BOX], "#"),
    "compare --max-unusable": (COMPARE, "#"),
    "compare --time-limit": (COMPARE, "#"),
    "compare --memory-limit": (COMPARE, "#GB"),
}
OPTIONS = [
    (method.name, method.promise, option.name)
    for method in methods()
    for option in method.options
    if not isinstance(option.default, bool)
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with trips, samples, and a release with noise and one without."""
    folder = tmp_path_factory.mktemp("numbers")
    times = pa.array([f"2024-05-01T{row % 24:02}:00:00" for row in range(ROWS)])
    pq.write_table(TRIPS.append_column("start_time", times), folder / "trips.parquet")
    pq.write_table(phones(10, samples=10), folder / "samples.parquet")
    (folder / "clinics.csv").write_text("id,lon,lat\nclinic,4.55,50.35\n")
    assert run(filled([*FLOWS[:-1], "IN/flows"], folder, folder)) == 0
    assert run(filled([*BOXES, "--cells", "20", "-o", "IN/noisy"], folder, folder)) == 0
    return folder


def filled(words, made, folder):
    """Return words with the folders in their places."""
    return [word.replace("IN/", f"{made}/").replace("OUT/", f"{folder}/") for word in words]


def check(words, folder, capsys):
    """Run a command that must end with an answer, or with an error that helps and nothing written."""
    capsys.readouterr()
    code = run(words)
    out, err = capsys.readouterr()
    said = f"{words[-1][:60]}: {code} {err[-300:]}"

    assert "bug" not in err, said
    assert "Traceback" not in err + out, said
    assert "Warning" not in err, said
    if code != 0:
        assert code in {1, 2}, said
        assert [line.split(": ")[0] for line in err.splitlines()[-2:]] == ["error", "hint"], said
        assert list(folder.iterdir()) == [], said
    for path in folder.iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)


def some_numbers(turn):
    """Return the numbers that every option must meet, and three of the others in turn."""
    others = [number for number in NUMBERS if number not in ALWAYS]
    return [*ALWAYS, *(others[(turn + step) % len(others)] for step in (0, 3, 6))]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_options_of_commands(name, made, tmp_path, capsys):
    """Every option that is a number, or has one in it."""
    words, pattern = CASES[name]
    option = next(word for word in name.split() if word.startswith("-"))
    for number in FEW if words[0] in {"compare", "study", "advise"} else some_numbers(list(CASES).index(name)):
        check([*filled(words, made, tmp_path), f"{option}={pattern.replace('#', number)}"], tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "promise", "option"), OPTIONS)
def test_options_of_methods(method, promise, option, made, tmp_path, capsys):
    """Every --option NAME=VALUE of every method."""
    noise = [*NOISE, *(["--grid", "h3:5"] if method == "laplace" else [])]
    noise += [] if method in {"laplace", "noisy-mosaic"} else ["--cells", "20"]
    words = filled(FLOWS if promise == "k-anonymity" else noise, made, tmp_path)
    for number in some_numbers(OPTIONS.index((method, promise, option))):
        check([*words, "--method", method, f"--option={option}={number}"], tmp_path, capsys)


def test_all_options_are_here(capsys):
    """Whoever adds an option that is a number, as the help says, adds it above."""
    found = set()
    for name in COMMANDS:
        assert run([*name.split(), "--help"]) == 0
        options = re.findall(r"^ +(-\S+) +(?:<int>|<float>|INTEGER|FLOAT)", capsys.readouterr().out, re.MULTILINE)
        found |= {f"{name} {option}" for option in options}

    assert "anonymize -k" in found
    assert found <= set(CASES)
