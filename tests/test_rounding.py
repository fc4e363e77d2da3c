"""Rounded numbers: multiples of a base around the true ones, unbiased, with sums that agree, and told as rounded."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._kinds import report_numbers
from flowveil._release.chance import draw_words
from flowveil._release.circulation import most_arcs, round_controlled
from flowveil._release.rounding import round_table
from tests.test_verify import write_table

SECRET = bytes(range(32))


@st.composite
def tables(draw):
    """Draw numbers of distinct flows: layer, matrix, origin, destination."""
    cells = draw(st.lists(st.tuples(*[st.integers(0, most) for most in (1, 1, 3, 3)]), max_size=25, unique=True))
    values = draw(st.lists(st.integers(0, 60), min_size=len(cells), max_size=len(cells)))
    keys = [np.array([cell[axis] for cell in cells], np.int64) for axis in range(4)]
    return np.array(values, np.int64), keys


def around(rounded, true, base):
    """Whether a number is one of the multiples around another."""
    return rounded % base == 0 and abs(rounded - true) < base


def sums(values, keys):
    """Return all sums that are rounded: of layers, matrices, rows and columns."""
    found = Counter()
    for value, layer, part, row, column in zip(values.tolist(), *(key.tolist() for key in keys), strict=True):
        for name in (("all", layer), ("part", layer, part), ("row", layer, part, row), ("col", layer, part, column)):
            found[name] += value
    return found


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(table=tables(), base=st.integers(2, 11), seed=st.integers(0, 2**32))
def test_numbers_and_sums_are_multiples_around_the_true_ones(table, base, seed):
    """Whatever chance says, each number and each sum is rounded up or down, and multiples stay."""
    values, keys = table
    words = np.random.default_rng(seed).integers(0, 2**63, most_arcs(keys)).astype(np.uint64)

    rounded = values - values % base + base * round_controlled(values, base, keys, words)

    assert all(around(new, old, base) for new, old in zip(rounded.tolist(), values.tolist(), strict=True))
    true = sums(values, keys)
    assert all(around(new, true[name], base) for name, new in sums(rounded, keys).items())


@pytest.mark.slow
def test_nothing_is_too_high_on_average():
    """Over many secrets each number, and each sum, is on average as it was."""
    values = np.array([1, 2, 3, 4, 6, 13, 10, 9, 11])
    keys = [np.zeros(9, np.int64), np.zeros(9, np.int64), np.arange(9) // 3, np.arange(9) % 3]
    draws = 800
    random = np.random.default_rng(7)
    words = random.integers(0, 2**63, (draws, most_arcs(keys))).astype(np.uint64)

    rounded = np.array([values - values % 5 + 5 * round_controlled(values, 5, keys, row) for row in words])

    assert rounded.mean(axis=0) == pytest.approx(values, abs=4 * 2.5 / math.sqrt(draws))
    assert rounded[:, 6].tolist() == [10] * draws
    assert len(set(map(tuple, rounded.tolist()))) > 10


def test_every_table_that_is_possible_is_reached():
    """Of a table of two by two all roundings that agree with its sums occur, and no other."""
    values, keys = (
        np.array([1, 1, 1, 1]),
        [np.zeros(4, np.int64)] * 2 + [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])],
    )
    possible = {
        up
        for up in itertools.product((0, 1), repeat=4)
        if max(sum(up), up[0] + up[1], up[2] + up[3]) <= 1 and max(up[0] + up[2], up[1] + up[3]) <= 1
    }  # 4 in all, 2 in a row: each sum is 0 or 5

    reached = {
        tuple(round_controlled(values, 5, keys, draw_words(SECRET, str(number), 20)).astype(int).tolist())
        for number in range(300)
    }

    assert reached == possible


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(10, 40), st.integers(0, 30)), min_size=1, max_size=12),
    base=st.integers(2, 10),
    secret=st.binary(min_size=32, max_size=32),
)
def test_persons_never_pass_trips(rows, base, secret):
    """Persons are rounded like the trips of their flow, and the same secret gives the same numbers."""
    count = len(rows)
    table = pa.table(
        {
            "origin": [f"a{number % 3}" for number in range(count)],
            "destination": [f"b{number // 3}" for number in range(count)],
            "trips": [persons + more for persons, more in rows],
            "persons": [persons for persons, _ in rows],
        }
    )

    rounded = round_table(table, base, secret, (), ())

    for new, old in zip(rounded.to_pylist(), table.to_pylist(), strict=True):
        assert around(new["trips"], old["trips"], base)
        assert around(new["persons"], old["persons"], base)
        assert new["persons"] <= new["trips"]
    assert rounded.equals(round_table(table, base, secret, (), ()))


@pytest.mark.slow
def test_persons_are_not_too_high_on_average():
    """Rounded alike, persons are still on average as they were."""
    table = pa.table({"origin": ["a", "b"], "destination": ["c", "c"], "trips": [14, 23], "persons": [12, 11]})
    draws = [round_table(table, 5, draw_words(SECRET, str(n), 4).tobytes(), (), ())["persons"] for n in range(700)]

    assert np.mean([draw.to_pylist() for draw in draws], axis=0) == pytest.approx([12, 11], abs=0.4)


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """Return trips of a small synthetic city."""
    path = tmp_path_factory.mktemp("rounding") / "trips.parquet"
    fv.synthetic.write_city(path, trips=3_000, persons=300)
    return path


def made(city, folder, *, build=None, **keywords):
    """Write a rounded release."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3", **build or {})
    release = fv.anonymize(flows, k=keywords.pop("k", 5), rounding=keywords.pop("rounding", 5), **keywords)
    return release, release.write(folder, report=True)


CASES = [
    ({"unit": "person_id"}, {}),
    ({"unit": "person_id"}, {"elsewhere": True, "k": 11, "rounding": 3}),
    ({"by": "age_group"}, {"totals": True, "rounding": 4}),
    ({"time": "hour-of-day", "by": "sex"}, {}),
    ({"time_hierarchy": "hour-of-day<part-of-day<day"}, {"remainders": True}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("build", "keywords"), CASES)
def test_rounded_releases_verify(city, tmp_path, build, keywords):
    """With persons, groups, totals, elsewhere, times and remainders: all are verified, and measured alike."""
    release, folder = made(city, tmp_path / "out", build=build, **dict(keywords))
    base = keywords.get("rounding", 5)

    assert any(f"multiple of {base}" in check for check in fv.verify(folder, city).checks)
    assert fv.evaluate(folder, city) == release.metrics(raw=True)
    promise = fv.read_release(folder).manifest["promise"]
    assert (promise["volumes"], promise["rounding"]) == ("rounded", base)
    assert fv.risk(folder, attacks="repeats").worst == "holds" if "unit" in build else True


@pytest.mark.slow
def test_the_same_secret_gives_the_same_bytes(city, tmp_path):
    """A file with a secret makes a release again; without one, numbers differ, and the audit file keeps the secret."""
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET.hex() + "\n")
    folders = [
        made(city, tmp_path / str(number), secret=given)[1]
        for number, given in enumerate([secret, str(secret), None, None])
    ]

    tables = [(folder / "flows.parquet").read_bytes() for folder in folders]

    assert tables[0] == tables[1]
    assert len(set(tables)) == 3
    kept = [json.loads(folder.with_name(f"{folder.name}.audit.json").read_text())["secret"] for folder in folders]
    assert kept[0] == SECRET.hex()
    assert len(set(kept)) == 3
    for folder in folders:
        assert not any(kept[0].encode() in file.read_bytes() for file in folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("column", ["trips", "persons"])
@pytest.mark.parametrize("change", [5, -5, 1])
def test_verify_notices_a_changed_number(city, tmp_path, column, change):
    """A number that is off by a base or more, or no multiple, is refused."""
    _, folder = made(city, tmp_path / "out", build={"unit": "person_id"})
    path = folder / "flows.parquet"
    table = pq.read_table(path)
    (folder / "report.html").unlink()
    true = fv.anonymize(
        fv.build_flows(city, "h3:7", hierarchy="h3", unit="person_id"), k=5
    ).flows  # the same flows, not rounded
    for sign in (1, -1):
        values = table[column].to_numpy() + 0
        if abs(change) == 5:  # push the number that is farthest from the truth farther
            row = int(np.argmax(sign * (values - true[column].to_numpy())))
            values[row] += sign * 5
        else:
            values[int(np.argmax(values))] += sign
        new = table.set_column(table.column_names.index(column), table.schema.field(column), pa.array(values))
        write_table(new, path)
        with pytest.raises(fv.VerificationError):
            fv.verify(folder, city)


def test_verify_checks_sums(city, tmp_path):
    """Numbers that are all rounded up are each around the true one, and their sums are not."""
    _, folder = made(city, tmp_path / "out")
    (folder / "report.html").unlink()
    true = fv.anonymize(fv.build_flows(city, "h3:7", hierarchy="h3"), k=5).flows
    up = -(-true["trips"].to_numpy() // 5) * 5
    write_table(true.set_column(2, "trips", pa.array(up)), folder / "flows.parquet")

    with pytest.raises(fv.VerificationError, match="sum of the trips of all flows"):
        fv.verify(folder, city)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"rounding": 6}, "would be 0"),
        ({"rounding": 1}, "rounding is 1"),
        ({"rounding": 2.5}, "rounding is 2.5"),
        ({"rounding": 5, "method": "odkanon", "options": {"reinstate": False}}, "areas of a tree"),
        ({"secret": "x"}, "nothing is left to chance"),
        ({"rounding": 5, "secret": "no such file"}, "cannot be read"),
    ],
)
def test_what_cannot_be_rounded(city, keywords, message):
    """Each refusal says why."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3")

    with pytest.raises(fv.InputError, match=message):
        fv.anonymize(flows, k=5, **keywords)


@pytest.mark.slow
def test_rounded_numbers_are_shown_as_rounded(city, tmp_path):
    """Report, findings, exports and estimates say that numbers are rounded."""
    release, folder = made(city, tmp_path / "out", build={"unit": "person_id", "time": "hour-of-day"})
    numbers = report_numbers(folder)

    assert numbers["meanings"]["trips"].endswith("rounded to 5s")
    assert numbers["meanings"]["smallest_persons"].endswith("rounded to 5s")
    assert "±" in numbers["findings"][0]
    assert "about" in numbers["findings"][2]
    assert "--rounding 5" in numbers["command"]
    fv.export(folder, "flowmap-blue", tmp_path / "map")
    assert "off_by_at_most" in (tmp_path / "map" / "flows.csv").read_text().splitlines()[0]
    zones = pa.table({"zone_id": ["all"], "geometry": [shapely.box(4.0, 50.0, 5.0, 51.0).wkb]})
    assert any("rounded to multiples of 5" in note for note in fv.reconstruct(folder, zones).notes)
    assert release.flows["trips"].to_pylist() == pq.read_table(folder / "flows.parquet")["trips"].to_pylist()


def test_weights_are_refused(city):
    """Where all weigh the same, a sum of weights tells the true number of trips."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3", unit="person_id", weight="weight")

    with pytest.raises(fv.InputError, match="true numbers"):
        fv.anonymize(flows, k=5, rounding=5)
