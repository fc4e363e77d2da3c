"""k-gap, accuracy, utility tasks and unicity, against plain computations."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections import Counter
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely
from benchmarks import plain_glove
from hypothesis import given, settings

from flowveil import InputError, trajectories
from flowveil._cli.commands import run
from flowveil._trajectories.evaluation import LocalClock, measure
from flowveil._trajectories.gaps import coarsen, nearest_others, tail_weight
from flowveil._trajectories.glove import glove
from flowveil._trajectories.utility import compare_tasks
from flowveil.synthetic import PHONES_BBOX, phones
from tests.trajectories import BBOX, from_points, small_sets

BOX = ",".join(map(str, BBOX))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(small_sets())
def test_gap_is_the_mean_of_the_nearest(users):
    """Eq. 11 by sorting all plain stretches of a user."""
    groups = [
        plain_glove.Plain(rank, [rank], [(t, t + 1, x, x + 1, y, y + 1) for t, x, y in sorted(set(points))], [])
        for rank, points in enumerate(users)
    ]
    count = len(users) - 1
    expected = [
        sorted(plain_glove.stretch(group, other, 200, 480) for other in groups if other is not group)
        for group in groups
    ]

    values, _ = nearest_others(from_points(users), count)

    assert expected == values.tolist()


def test_gap_figures():
    """Shares of time and space add up to the stretch; two equal users have no gap; coarser grids hide more."""
    users = [[(0, 0, 0), (700, 30, 40)], [(0, 0, 0), (700, 30, 40)], [(60, 10, 0), (900, 30, 40)]]
    found = trajectories.gap(from_points(users), [2, 3])

    assert found.gaps[2].tolist()[:2] == [0, 0]
    assert found.gaps[2][2] == pytest.approx(found.space[2] + found.time[2])
    assert found.gaps[3][0] == pytest.approx(found.gaps[2][2] / 2)
    assert (found.generalized["20 km, 480 min"] <= found.gaps[2]).all()
    assert json.dumps(found.figures(), allow_nan=False)
    with pytest.raises(InputError, match="number of users"):
        trajectories.gap(from_points(users), [4])


def test_tail_weight_of_known_distributions():
    """The paper's references: 1.6 for an exponential distribution, 14 for a Pareto distribution with shape 1."""
    share = (np.arange(100_000) + 0.5) / 100_000

    assert tail_weight(-np.log(1 - share)) == pytest.approx(1.64, abs=0.01)
    assert tail_weight(1 / (1 - share)) == pytest.approx(14.2, abs=0.1)
    assert np.isnan(tail_weight(np.ones(5)))
    drawn = np.random.default_rng(1).pareto(2, 301)
    ordered, normal = sorted(drawn), statistics.NormalDist().inv_cdf  # of 301 values, quantiles are values
    tail = (ordered[297] - ordered[150]) / (ordered[225] - ordered[150])
    assert tail_weight(drawn) == pytest.approx(tail * normal(0.75) / normal(0.99), rel=1e-3)


def test_coarser_grid_counts_once():
    """Samples that fall into the same coarse cell and step become one, and nobody gets lost."""
    coarse = coarsen(from_points([[(0, 0, 0), (10, 3, 3), (40, 3, 3)], [(0, 0, 0)]]), 1000, 30)

    assert coarse.start.tolist() == [0, 2, 3]
    assert coarse.grid.space_limit == 20


def plain_unicity(users, groups, members, drawn):
    """Return matches before and after for one user's drawn points."""
    before = sum(all(point in points for point in drawn) for points in users)

    def holds(boxes, point):
        return any(b[0] <= point[0] < b[1] and b[2] <= point[1] < b[3] and b[4] <= point[2] < b[5] for b in boxes)

    after = sum(
        len(own) for own, group in zip(members, groups, strict=True) if all(holds(group.T.tolist(), p) for p in drawn)
    )
    return before, after


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(small_sets())
def test_unicity_of_glove(users):
    """Nobody who was grouped is alone afterwards, and matches are those of plain counting."""
    from flowveil._trajectories.glove import glove
    from flowveil._trajectories.inside import fitting_users

    data = from_points(users)
    found = glove(data, 2)
    group_of = np.full(len(users), -1)
    for number, group in enumerate(found.groups):
        group_of[group.members] = number
    boxes = [group.samples for group in found.groups]

    shares = measure(data, boxes, group_of, 2).unicity

    assert all(after["after"]["one"] == 0 and after["after"]["none"] == 0 for after in shares.values())
    drawn = [sorted(set(points))[:3] for points in users]
    flat = np.array(list(itertools.chain.from_iterable(drawn))).T.copy()
    first = np.cumsum([0, *map(len, drawn)])
    start = np.cumsum([0, *(box.shape[1] for box in boxes)])
    sizes = np.array([len(group.members) for group in found.groups])
    actual = fitting_users(flat, first, np.concatenate(boxes, axis=1), start, sizes)
    members = [group.members for group in found.groups]
    assert actual.tolist() == [plain_unicity(users, boxes, members, points)[1] for points in drawn]


def test_tasks_by_hand():
    """A square walked around, and the same square twice as large."""
    day = np.array([[0, 0, 0], [600, 100, 0], [660, 100, 100], [1400, 0, 0]], float)
    twice = day * [1, 2, 2]

    same, larger = compare_tasks(day, day), compare_tasks(day, twice)

    assert same == {"center": 0, "home": 0, "work": 0, "travel": 1, "gyration": 1, "hull": 1}
    assert larger["travel"] == larger["gyration"] == pytest.approx(2)
    assert larger["hull"] == pytest.approx(4)
    assert larger["home"] == 0
    assert larger["work"] == pytest.approx(100)
    still = np.array([[0, 5, 5], [10, 5, 5]], float)
    assert compare_tasks(still, still)["hull"] == 1
    assert np.isnan(compare_tasks(still, day)["travel"])
    assert np.isnan(compare_tasks(still, day)["work"])


@pytest.mark.parametrize("seed", range(5))
def test_tasks_of_random_walks(seed):
    """Center, home, work, travel, gyration and hull of two random trajectories, by plain Python and shapely."""
    chance = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        minutes = np.sort(chance.integers(0, 3 * 24 * 60, 25))
        places = chance.integers(0, 4, (25, 2)) * 500 + chance.integers(0, 2)
        sides.append(np.column_stack([minutes, places]).astype(float))

    found = compare_tasks(*sides)

    def most_seen(rows, hours):
        seen = Counter((x, y) for minute, x, y in rows if minute // 60 % 24 in hours)
        often = max(seen.values(), default=0)
        return min((place for place, times in seen.items() if times == often), default=None)

    centers = [(statistics.mean(rows[:, 1]), statistics.mean(rows[:, 2])) for rows in sides]
    assert found["center"] == pytest.approx(math.dist(*centers))
    for name, hours in (("home", [*range(6), 22, 23]), ("work", range(9, 17))):
        places = [most_seen(rows, hours) for rows in sides]
        assert found[name] == pytest.approx(math.dist(*places) if all(places) else math.nan, nan_ok=True)
    ways = [sum(math.dist(a, b) for a, b in itertools.pairwise(rows[:, 1:])) for rows in sides]
    assert found["travel"] == pytest.approx(ways[1] / ways[0])
    turns = [
        math.sqrt(statistics.mean(math.dist(place, center) ** 2 for place in rows[:, 1:]))
        for rows, center in zip(sides, centers, strict=True)
    ]
    assert found["gyration"] == pytest.approx(turns[1] / turns[0])
    hulls = [shapely.MultiPoint(rows[:, 1:]).convex_hull.area for rows in sides]
    assert found["hull"] == pytest.approx(hulls[1] / hulls[0])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(small_sets().filter(lambda users: len(users) > 3))
def test_accuracy_by_plain_loops(users):
    """Extent, duration and errors of samples: every user's sample beside the box of the group that holds it."""
    data = from_points(users)
    groups = glove(data, 2).groups
    group_of = np.full(len(users), -1)
    for number, group in enumerate(groups):
        group_of[list(group.members)] = number
    found = measure(data, [group.samples for group in groups], group_of, 2)
    extent, duration, away, late, kept = [], [], [], [], 0
    for user, number in enumerate(group_of.tolist()):
        boxes = [] if number < 0 else groups[number].samples.T.tolist()
        extent += [max(x1 - x0, y1 - y0) * 100 for _, _, x0, x1, y0, y1 in boxes]
        duration += [t1 - t0 for t0, t1, *_ in boxes]
        for t, x, y in sorted(set(users[user])):
            holding = [b for b in boxes if b[0] <= t < b[1] and b[2] <= x < b[3] and b[4] <= y < b[5]]
            if holding:
                t0, t1, x0, x1, y0, y1 = min(holding, key=lambda b: b[1] - b[0])
                away.append(100 * math.dist((x + 0.5, y + 0.5), ((x0 + x1) / 2, (y0 + y1) / 2)))
                late.append(abs(t + 0.5 - (t0 + t1) / 2))
                kept += 1

    assert sorted(found.extent) == pytest.approx(sorted(extent))
    assert sorted(found.duration) == pytest.approx(sorted(duration))
    assert sorted(found.position_error) == pytest.approx(sorted(away))
    assert sorted(found.time_error) == pytest.approx(sorted(late))
    assert found.counts["suppressed"] == pytest.approx(1 - kept / len(data.t))


def test_nights_follow_the_clock():
    """Half past eight in UTC is night in Brussels in summer and not in winter: each sample has the clock of its day."""
    evenings = [datetime(2024, month, day, 20, 30, tzinfo=UTC) for month in (1, 7) for day in range(1, 5)]
    moments = [*evenings, datetime(2024, 7, 9, 2, tzinfo=UTC)]
    minutes = [moment.timestamp() / 60 for moment in moments]
    before = np.column_stack([minutes, [0] * 4 + [100] * 4 + [200], [0] * 9])
    after = before + np.column_stack([[0] * 9, [0] * 4 + [7] * 4 + [0], [0] * 9])
    brussels, utc = LocalClock("Europe/Brussels"), LocalClock("UTC")

    assert (brussels.at(before)[:, 0] // 60 % 24).tolist() == [21] * 4 + [22] * 4 + [4]
    assert compare_tasks(brussels.at(before), brussels.at(after))["home"] == 7
    assert compare_tasks(utc.at(before), utc.at(after))["home"] == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a release on the command line; return it and its input."""
    folder = tmp_path_factory.mktemp("made")
    source = folder / "phones.parquet"
    pq.write_table(phones(30, samples=20), source)
    assert run(["trajectories", "anonymize", str(source), "-o", str(folder / "out"), "-k", "2", f"--bbox={BOX}"]) == 0
    return folder / "out", source


@pytest.mark.slow
def test_commands(made, capsys, tmp_path):
    """Verify, evaluate and gap print one JSON value, and draw plots that are XML."""
    out, source = made
    assert run(["trajectories", "verify", str(out), "--against", str(source), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"]
    evaluate = ["trajectories", "evaluate", str(out), "--against", str(source), "--timezone", "Europe/Brussels"]
    assert run([*evaluate, "--plots", str(tmp_path / "plots"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["released_users"] == 30
    assert figures["suppressed"] == 0
    gap = ["trajectories", "gap", str(source), f"--bbox={BOX}", "-k", "2,3"]
    assert run([*gap, "--plots", str(tmp_path / "plots"), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["gap"]) == {"2", "3"}
    drawn = list((tmp_path / "plots").iterdir())
    assert len(drawn) == 19
    for picture in drawn:
        ET.fromstring(picture.read_text())  # noqa: S314  our own file
    assert run([*gap, "--no-generalize"]) == 0
    assert "keep them private" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["anonymize", "SOURCE", "-o", "OUT"], 2),
        (["anonymize", "SOURCE", "-o", "OUT", f"--bbox={BOX}", "-k", "31"], 1),
        (["anonymize", "SOURCE", "-o", "OUT", f"--bbox={BOX}", "--variant", "lose"], 2),
        (["gap", "SOURCE", f"--bbox={BOX}", "-k", "two"], 2),
        (["gap", "SOURCE", f"--bbox={BOX}", "--plots", "OUT/a/b"], 2),
        (["verify", "OUT", "--against", "SOURCE"], 2),
        (["evaluate", "OUT", "--against", "SOURCE"], 2),
    ],
)
def test_bad_usage_writes_nothing(made, tmp_path, capsys, arguments, code):
    """Bad input ends with 2, a promise that cannot be kept with 1; nothing is left behind."""
    words = {"SOURCE": str(made[1]), "OUT": str(tmp_path / "new")}
    full = [words.get(word, word.replace("OUT", str(tmp_path / "new"))) for word in arguments]

    assert run(["trajectories", *full]) == code

    assert "hint:" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_evaluate_refuses_other_input(made):
    """Figures against somebody else's data would mean nothing."""
    with pytest.raises(InputError, match="does not have the users"):
        trajectories.evaluate(made[0], phones(31, samples=20))
    with pytest.raises(InputError, match="time zone"):
        trajectories.evaluate(made[0], made[1], timezone="Mars/Olympus")
    assert PHONES_BBOX == BBOX
