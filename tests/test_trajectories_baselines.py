"""W4M, NWA and TGA: clusters, alignment and counts."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, UnknownNameError
from flowveil._cli.commands import run
from flowveil._trajectories.edits import align
from flowveil._trajectories.tga import align_boxes
from flowveil.synthetic import PHONES_BBOX, phones
from flowveil.trajectories import BASELINES, baseline, read_trajectories
from tests.trajectories import BBOX, from_points

BOX = ",".join(map(str, BBOX))


def plain_edits(points, pivot):
    """Return the least number of edits, by recursion from the front."""
    if not points or not pivot:
        return len(points) + len(pivot)
    (t, x, y), (u, v, w) = points[0], pivot[0]
    same = np.hypot(x - v, y - w) <= 1000 and abs(t - u) <= 30
    return min(
        plain_edits(points[1:], pivot[1:]) + (not same),
        plain_edits(points[1:], pivot) + 1,
        plain_edits(points, pivot[1:]) + 1,
    )


POINT = st.tuples(st.integers(0, 100), st.integers(0, 3000), st.integers(0, 500))


@settings(max_examples=60, deadline=None)
@given(st.lists(POINT, max_size=5).map(sorted), st.lists(POINT, min_size=1, max_size=5).map(sorted))
def test_alignment_is_the_cheapest(points, pivot):
    """Matches are in order, and their edits as few as recursion finds."""
    match = align(np.array(points, float).reshape(-1, 3), np.array(pivot, float), 1000.0, 30.0)
    used = match[match >= 0]

    assert (np.diff(used) > 0).all()
    changed = sum(
        np.hypot(points[i][1] - pivot[j][1], points[i][2] - pivot[j][2]) > 1000 or abs(points[i][0] - pivot[j][0]) > 30
        for i, j in enumerate(match)
        if j >= 0
    )
    edits = changed + (len(points) - len(used)) + (len(pivot) - len(used))
    assert edits == plain_edits(points, pivot)


def plain_log_cost(a, b, alone):
    """Return the least log cost of an alignment, by recursion from the front."""
    if not a or not b:
        return alone * (len(a) + len(b))
    sides = [max(a[0][row + 1], b[0][row + 1]) - min(a[0][row], b[0][row]) for row in (0, 2, 4)]
    skip = min(plain_log_cost(a[1:], b, alone), plain_log_cost(a, b[1:], alone)) + alone
    if sides[0] > 480 or max(sides[1:]) > 200:
        return skip
    return min(skip, plain_log_cost(a[1:], b[1:], alone) + sum(math.log(side) for side in sides))


BOXES = st.lists(st.tuples(st.integers(0, 600), st.integers(0, 250), st.integers(0, 5)), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(BOXES, BOXES)
def test_log_cost_alignment_is_the_cheapest(first, second):
    """Matches are in order, and cost as little as recursion finds."""
    a, b = ([(t, t + 1, x, x + 1, y, y + 1) for t, x, y in sorted(points)] for points in (first, second))
    logs = np.log(np.maximum(np.arange(482.0), 1))
    alone = (2 * math.log(200) + math.log(480)) / 2

    match = align_boxes(np.array(a).T.copy(), np.array(b).T.copy(), logs, np.array([200, 480]))

    pairs = [(a[i], b[j]) for i, j in enumerate(match) if j >= 0]
    actual = alone * (len(a) + len(b) - 2 * len(pairs)) + sum(
        math.log(max(one[row + 1], other[row + 1]) - min(one[row], other[row]))
        for one, other in pairs
        for row in (0, 2, 4)
    )
    assert (np.diff(match[match >= 0]) > 0).all()
    assert actual == pytest.approx(plain_log_cost(a, b, alone))


@pytest.mark.slow
@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.parametrize("k", [2, 5])
def test_clusters_and_counts(method, k):
    """Clusters have at least k users and are disjoint, trash is within 10 percent for W4M, samples add up."""
    data = read_trajectories(phones(120, samples=40), BBOX)

    found = baseline(data, method, k)

    members = np.concatenate(found.clusters)
    assert min(map(len, found.clusters)) >= k
    assert len(set(members.tolist())) == len(members)
    assert found.discarded == 120 - len(members)
    if method == "w4m":
        assert found.discarded <= 12
    else:
        assert found.created == 0
    if method == "nwa":
        assert found.time_error.max() == 0
    if method == "tga":
        assert {len(members) for members in found.clusters} == {k}
    samples = np.diff(data.start)[members].sum()
    assert len(found.position_error) + found.deleted == samples


@pytest.mark.parametrize("method", ["w4m", "tga"])
def test_equal_users_are_not_moved(method):
    """Users who do the same are one cluster without any error."""
    path = [(0, 0, 0), (500, 20, 0), (3000, 20, 20)]
    found = baseline(from_points([path, path, path]), method, 3)

    assert [sorted(members.tolist()) for members in found.clusters] == [[0, 1, 2]]
    assert found.created == found.deleted == 0
    assert found.position_error.max() == found.time_error.max() == 0


@pytest.mark.parametrize("method", BASELINES)
def test_what_they_would_ignore_is_refused(method):
    """Weights, days, and caps of methods that have none are an error, and not ignored in silence."""
    records = phones(6, samples=8)
    refused = [{"weights": "1,2"}, {"cut_into": "day"}, *([] if method == "tga" else [{"caps": "10km,4h"}])]
    for reading in refused:
        data = read_trajectories(records, PHONES_BBOX, **reading)

        with pytest.raises(InputError, match=next(iter(reading)).replace("cut_into", "whole trajectories")):
            baseline(data, method, 2)


def test_refusals():
    """Unknown names, a k below 2 and too few users."""
    data = from_points([[(0, 0, 0)], [(1, 1, 1)]])
    with pytest.raises(UnknownNameError, match="baseline"):
        baseline(data, "kam", 2)
    with pytest.raises(InputError, match="k is 1"):
        baseline(data, "w4m", 1)
    with pytest.raises(PromiseError, match="only 2 users"):
        baseline(data, "w4m", 3)


def test_command(tmp_path, capsys):
    """The command prints what was moved, created and deleted, and writes nothing."""
    source = tmp_path / "phones.parquet"
    pq.write_table(phones(30, samples=20), source)

    assert run(["trajectories", "baseline", str(source), f"--bbox={BOX}", "--method", "w4m", "-k", "2", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["method"] == "w4m"
    assert list(tmp_path.iterdir()) == [source]


def plainly_moved(data, clusters, method):
    """Return how far samples move into discs of 2 km: around the match of the pivot, or where it is at that moment."""
    corners = np.column_stack([data.t * data.grid.minutes, data.x * data.grid.meters, data.y * data.grid.meters])
    users = [corners[a:b].tolist() for a, b in itertools.pairwise(data.start)]
    moved = []
    for members in clusters:
        pivot = users[members[0]]
        for own in (users[member] for member in members):
            if method == "w4m":
                match = align(np.array(own, float), np.array(pivot, float), 1000.0, 30.0).tolist()
                pairs = [(one, pivot[to]) for one, to in zip(own, match, strict=True) if to >= 0]
            else:
                first, last = math.ceil(own[0][0] / 1440) * 1440, math.floor(own[-1][0] / 1440) * 1440
                pairs = [(one, on_the_way(pivot, one[0])) for one in own if first <= one[0] <= last]
            moved += [max(math.dist(one[1:], to[1:]) - 1000, 0) for one, to in pairs]
    return moved


def on_the_way(samples, moment):
    """Return where somebody is who goes straight from sample to sample."""
    for (t, x, y), (u, v, w) in itertools.pairwise(samples):
        if t <= moment <= u:
            share = (moment - t) / (u - t) if u > t else 0
            return moment, x + share * (v - x), y + share * (w - y)
    return samples[0] if moment < samples[0][0] else samples[-1]


@pytest.mark.parametrize("method", BASELINES)
def test_distortion_is_that_of_the_papers(method):
    """Translation, Omega, information distortion and discernibility, added up one by one."""
    figures = baseline(data := read_trajectories(phones(30, samples=15), BBOX), method, 3).figures()
    older = baseline(data, method, 3)

    if method != "tga":
        assert sorted(older.position_error) == pytest.approx(sorted(plainly_moved(data, older.clusters, method)))
    moved = older.position_error.tolist()
    omega = max(moved, default=0.0)
    lost = len(data.t) - len(moved)
    sizes = [len(members) for members in older.clusters]

    assert figures["distortion"]["translation"] == pytest.approx(sum(moved))
    assert figures["distortion"]["omega"] == omega
    assert figures["distortion"]["information"] == pytest.approx(sum(moved) + lost * omega)
    assert figures["distortion"]["information_mean"] == pytest.approx((sum(moved) + lost * omega) / len(data.t))
    assert figures["distortion"]["discernibility"] == sum(n * n for n in sizes) + (30 - sum(sizes)) * 30


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("w4m", {"delta": "0m"}),
        ("w4m", {"max_trash": 0.5}),
        ("w4m", {"radius": "50km"}),
        ("w4m", {"chunk": 10}),
        ("nwa", {"granularity": "6h"}),
        ("tga", {"seed": 1}),
    ],
)
def test_options_of_older_methods(method, options):
    """Every option changes something: what is moved, kept or put together."""
    data = read_trajectories(phones(30, samples=15), BBOX)

    plain, other = baseline(data, method, 3).figures(), baseline(data, method, 3, **options).figures()

    assert plain != other


def test_options_that_do_not_fit(tmp_path, capsys):
    """An option of another method, or of no use, is an error, from Python and from the command line."""
    data = read_trajectories(phones(6, samples=5), BBOX)
    for method, options in (("tga", {"delta": "1km"}), ("w4m", {"granularity": "1d"}), ("nwa", {"chunk": 5})):
        with pytest.raises(InputError, match="has no option"):
            baseline(data, method, 2, **options)
    for options in ({"max_trash": 2}, {"radius": "0m"}, {"chunk": 1}, {"delta": "wide"}):
        with pytest.raises(InputError):
            baseline(data, "w4m", 2, **options)
    samples = tmp_path / "samples.parquet"
    pq.write_table(phones(6, samples=5), samples)
    common = ["trajectories", "baseline", str(samples), f"--bbox={BOX}"]
    assert run([*common, "--method", "tga", "--delta", "1km"]) == 2
    assert "tga has no option 'delta'" in capsys.readouterr().err
    assert run([*common, "--delta", "1km", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["distortion"]["discernibility"] > 0
