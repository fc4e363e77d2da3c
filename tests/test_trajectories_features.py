"""Figures 16 to 20 of the paper, each against a few plain lines; and units of all figures."""

from __future__ import annotations

import json
import math
import statistics
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks import plain_glove

from flowveil import InputError, trajectories
from flowveil._cli.commands import run
from flowveil._trajectories.glove import glove
from flowveil._trajectories.properties import correlate, measure_properties, stretch_to_others
from flowveil.synthetic import PHONES_BBOX, phones
from tests.trajectories import from_points

BOX = "--bbox=" + ",".join(map(str, PHONES_BBOX))
USERS = [
    [(0, 0, 0), (60, 30, 40), (180, 0, 0)],
    [(0, 1, 0), (50, 30, 41)],
    [(5, 100, 100)],
    [(0, 0, 0), (1, 0, 0), (2, 0, 0), (1440, 500, 0)],
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write samples and a release of pairs."""
    folder = tmp_path_factory.mktemp("made")
    records = phones(24, samples=30)
    pq.write_table(records, folder / "samples.parquet")
    trajectories.anonymize(records, 2, bbox=PHONES_BBOX).write(folder / "out")
    return folder


def test_properties_of_a_trajectory():
    """Radius of gyration, density, travel distance, spread of times and samples an hour, with plain Python."""
    found = measure_properties(from_points(USERS))

    circles = []
    for points in USERS:
        places = [(100.0 * x, 100.0 * y) for _, x, y in points]
        center = [statistics.fmean(axis) for axis in zip(*places, strict=True)]
        circles.append((center, math.sqrt(statistics.fmean(math.dist(place, center) ** 2 for place in places))))
    for user, points in enumerate(USERS):
        gaps = [after[0] - before[0] for before, after in pairwise(points)]
        travel = sum(100 * math.dist(before[1:], after[1:]) for before, after in pairwise(points))
        near = [
            math.dist(circles[user][0], center) <= circles[user][1] + radius
            for other, (center, radius) in enumerate(circles)
            if other != user
        ]
        assert found["gyration"][user] == pytest.approx(circles[user][1])
        assert found["travel"][user] == pytest.approx(travel)
        assert found["density"][user] == sum(near)
        spread = statistics.pstdev(gaps) if len(gaps) > 1 else math.nan
        assert found["spread"][user] == pytest.approx(spread, nan_ok=True)
        frequency = len(points) / (sum(gaps) / 60) if gaps else math.nan
        assert found["frequency"][user] == pytest.approx(frequency, nan_ok=True)


def test_stretch_and_correlations():
    """The stretch of a pair is Eq. 10 of both, and correlations are Pearson's."""
    data = from_points(USERS)
    plain = [
        plain_glove.Plain(rank, [rank], [(t, t + 1, x, x + 1, y, y + 1) for t, x, y in points], [])
        for rank, points in enumerate(USERS)
    ]

    found = stretch_to_others(data, np.array([0, 0, -1, 0]))

    pairs = {(a, b): plain_glove.stretch(plain[a], plain[b], 200, 480) for a in (0, 1, 3) for b in (0, 1, 3) if a < b}
    for user in (0, 1, 3):
        assert found[user] == pytest.approx(statistics.fmean(pairs[pair] for pair in pairs if user in pair))
    assert math.isnan(found[2])
    properties = measure_properties(data)
    known = correlate(properties, found)
    chosen = [0, 1, 3]
    assert known["travel"] == pytest.approx(statistics.correlation(properties["travel"][chosen], found[chosen]))
    assert correlate({name: np.ones(4) for name in properties}, found) == dict.fromkeys(known)


def test_accuracy_by_frequency(made):
    """Users of a range of samples an hour have the samples of their groups, each counted once for each user."""
    release = trajectories.read_release(made / "out")
    figures = trajectories.evaluate(made / "out", made / "samples.parquet").figures()
    times = pq.read_table(made / "samples.parquet").to_pandas().groupby("user_id")["time"]
    span = times.agg(lambda moments: (moments.max() - moments.min()).total_seconds() / 3600)
    rows = release.trajectories.to_pandas()
    minutes = (rows["t1"] - rows["t0"]).dt.total_seconds() / 60
    group_of = dict(zip(*(release.members[name].to_pylist() for name in ("user_id", "group")), strict=True))

    expected = [minutes[rows["group"] == group_of[user]] for user in span.index if 0.03 <= 30 / span[user] < 0.1]

    low, high = "0.03 to 0.1 an hour", "0.1 to 0.3 an hour"
    assert set(figures["frequency"]) <= {low, high}
    if expected:
        assert figures["frequency"][low]["duration"]["mean"] == pytest.approx(np.concatenate(expected).mean(), rel=0.02)
    assert sum(part["users"] for part in figures["frequency"].values()) == 24


def accuracy(data, k):
    """Return extents and durations of all samples after glove, once for each user, sorted."""
    pairs = [
        (max(x1 - x0, y1 - y0) * 100.0, float(t1 - t0))
        for group in glove(data, k).groups
        for t0, t1, x0, x1, y0, y1 in group.samples.T.tolist()
        for _ in group.members
    ]
    return [sorted(part) for part in zip(*pairs, strict=True)]


def test_parts_of_the_data(made):
    """A day, a part of the map and a share of the users are anonymized by themselves, as if they were all there is."""
    table = pq.read_table(made / "samples.parquet").to_pandas()
    data = trajectories.read_trajectories(made / "samples.parquet", PHONES_BBOX)
    west, south, east, north = PHONES_BBOX
    box = (west + (east - west) / 4, south + (north - south) / 4, east - (east - west) / 4, north - (north - south) / 4)
    day = table["time"].dt.floor("D")
    first = table[day <= day.min() + np.timedelta64(2, "D")]
    inside = table[table["lon"].between(box[0], box[2]) & table["lat"].between(box[1], box[3])]

    parts = trajectories.features(data, 2).parts

    for part, chosen in ((parts["span"]["3 days"], first), (parts["span"]["all"], table)):
        expected = accuracy(trajectories.read_trajectories(chosen, PHONES_BBOX), 2)
        assert [sorted(part.extent.tolist()), sorted(part.duration.tolist())] == expected
    assert parts["coverage"]["within"].users == pytest.approx(inside["user_id"].nunique(), abs=1)
    assert parts["cardinality"]["50%"].users == 12
    assert [len(part) for part in parts.values()] == [len(parts["span"]), 2, len(parts["cardinality"])]
    with pytest.raises(InputError, match="outside"):
        trajectories.features(data, 2, within=(0, 0, 1, 1))


@pytest.mark.slow
def test_command_and_units(made, capsys):
    """Figures on the terminal and in JSON have units; parts of the data are measured and drawn on request."""
    samples, plots = str(made / "samples.parquet"), str(made / "plots")
    common = ["trajectories", "gap", samples, BOX, "-k", "2", "--no-generalize"]
    assert run([*common, "--within", "4.5,50.3,4.6,50.4"]) == 2
    assert run([*common, "--features", "--plots", plots, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["features"]["span"]["all"]["users"] == 24
    assert printed["units"]["gap"] == "stretch, 0 to 1"
    assert (printed["units"]["extent"], printed["units"]["duration"]) == ("m", "min")
    assert run([*common, "--features"]) == 0
    assert {"extent (m)", "duration (min)"} <= {line[6:22].strip() for line in capsys.readouterr().out.splitlines()}
    assert (made / "plots" / "cardinality-extent.svg").is_file()
    evaluate = ["trajectories", "evaluate", str(made / "out"), "--against", samples]
    assert run(evaluate) == 0
    shown = capsys.readouterr().out
    assert run([*evaluate, "--json"]) == 0
    units = json.loads(capsys.readouterr().out)["units"]
    for name in ("extent (m)", "duration (min)", "home (m)", "omega (m)", "travel (released / original)"):
        assert name in shown
    assert units["position_error"] == "m"
