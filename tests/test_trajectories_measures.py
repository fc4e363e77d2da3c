"""k-gap, accuracy, utility tasks and unicity, against plain computations."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks import plain_glove
from hypothesis import given, settings

from flowveil import InputError, trajectories
from flowveil._cli.commands import run
from flowveil._trajectories.evaluation import LocalClock, measure
from flowveil._trajectories.gaps import coarsen, nearest_others, tail_weight
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
