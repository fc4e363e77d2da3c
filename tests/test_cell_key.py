"""Cell keys: numbers changed by at most so much, not on average, and the same trips always alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._kinds import report_numbers
from flowveil._release.cell_key import cell_keys, change_persons, look_up, perturbations
from tests.test_verify import write_table

SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """Return trips of a small synthetic city."""
    path = tmp_path_factory.mktemp("cell-key") / "trips.parquet"
    fv.synthetic.write_city(path, trips=3_000, persons=300)
    return path


@pytest.fixture
def secret(tmp_path):
    """Return a file with a secret."""
    path = tmp_path / "secret"
    path.write_text(SECRET.hex())
    return path


@pytest.mark.parametrize("most", [1, 2, 5, 30])
def test_changes_are_bounded_and_nothing_on_average(most):
    """The table has mean 0 and half the variance of an even one, and larger changes are less likely."""
    change, likely = np.arange(-most, most + 1), perturbations(most)

    assert likely.sum() == pytest.approx(1)
    assert likely == pytest.approx(likely[::-1])
    assert likely @ change**2 == pytest.approx(most * (most + 1) / 6)
    assert (np.diff(likely[most:]) < 0).all()


def test_changes_are_drawn_as_likely_as_the_table_says():
    """Keys that are chance give changes with the probabilities of the table."""
    keys = np.random.default_rng(3).integers(0, 2**63, 20_000).astype(np.uint64)

    found = look_up(keys, 3, SECRET, "trips")

    assert np.bincount(found + 3, minlength=7) / 20_000 == pytest.approx(perturbations(3), abs=0.015)
    assert (found != look_up(keys, 3, SECRET, "persons")).any()
    assert found.tolist() == look_up(keys, 3, SECRET, "trips").tolist()


@pytest.mark.parametrize("more", [0, 1, 4])
def test_persons_are_changed_without_passing_trips(more):
    """Persons are changed by no more than trips may be, 0 on average, and never to more than the trips of the flow."""
    keys = np.random.default_rng(4).integers(0, 2**63, 20_000).astype(np.uint64)
    trips = look_up(keys, 4, SECRET, "trips")

    persons = change_persons(trips, np.full(len(keys), more), keys, 4, SECRET)

    assert np.abs(persons).max() == 4
    assert persons.mean() == pytest.approx(0, abs=0.06)
    assert (persons <= trips + more).all()
    assert len(np.unique(trips - persons)) == 2 * more + 1


def test_keys_add_up_whatever_the_order(city):
    """The key of two flows together is the sum of theirs modulo 2**64, and another secret gives another."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3")
    group = np.arange(len(flows)) % 2
    together = cell_keys(flows, np.zeros(len(flows), np.int64), 1, SECRET)

    parts = cell_keys(flows, group, 2, SECRET)

    assert (int(parts[0]) + int(parts[1])) % 2**64 == int(together[0])
    assert together != cell_keys(flows, np.zeros(len(flows), np.int64), 1, SECRET[::-1])


def table_of(release):
    """Return published trips by ends and group."""
    return {
        tuple(value for name, value in row.items() if name not in ("trips", "persons")): row
        for row in release.flows.to_pylist()
    }


def test_the_same_trips_are_changed_alike(city, secret):
    """Methods, budgets and k that publish the same pair of areas publish the same number for it."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3")
    made = [
        fv.anonymize(flows, method, k=k, cell_key=3, secret=secret)
        for method, k in (("mosaic", 5), ("suppression", 5), ("mosaic", 8))
    ]

    first, *others = (table_of(release) for release in made)

    for other in others:
        both = first.keys() & other.keys()
        assert len(both) > 20
        assert all(first[pair]["trips"] == other[pair]["trips"] for pair in both)
    fresh = table_of(fv.anonymize(flows, k=5, cell_key=3))
    assert any(first[pair]["trips"] != fresh[pair]["trips"] for pair in first)


def test_a_group_that_is_all_is_changed_like_all(secret):
    """Where all trips of a flow are men's, the flow of men has the number of the flow of all."""
    table = pa.table({"origin": ["a"] * 40, "destination": ["b"] * 40, "sex": ["male"] * 40})
    zones = pa.table({"zone_id": ["a", "b"], "lon": [1.0, 2.0], "lat": [1.0, 2.0]})
    numbers = {
        fv.anonymize(fv.build_flows(table, zones=zones, hierarchy="ward", by=by), k=10, cell_key=9, secret=secret)
        .flows["trips"][0]
        .as_py()
        for by in ((), ("sex",))
    }

    assert len(numbers) == 1


CASES = [
    ({"unit": "person_id"}, {"elsewhere": True}),
    ({"by": "age_group"}, {"totals": True}),
    ({"time": "hour-of-day", "unit": "person_id"}, {}),
    ({}, {"protect_margins": True}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("build", "keywords"), CASES)
def test_changed_releases_verify(city, tmp_path, build, keywords):
    """Releases with persons, groups, totals, elsewhere and times are verified, measured and shown as changed."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3", **build)
    release = fv.anonymize(flows, k=5, cell_key=2, **keywords)
    folder = release.write(tmp_path / "out", report=True)

    assert any("changed by at most 2" in check for check in fv.verify(folder, city).checks)
    assert fv.evaluate(folder, city) == release.metrics(raw=True)
    assert report_numbers(folder)["meanings"]["trips"].endswith("changed by up to 2")
    assert "--cell-key 2" in report_numbers(folder)["command"]
    if "unit" in build:
        assert fv.risk(folder, attacks="repeats").worst == "holds"


@pytest.mark.parametrize("column", ["trips", "persons"])
def test_verify_notices_a_number_that_is_changed_more(city, tmp_path, column):
    """A number that is off by more than was promised is refused."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3", unit="person_id")
    folder = fv.anonymize(flows, k=5, cell_key=2).write(tmp_path / "out")
    true = fv.anonymize(flows, k=5).flows
    table = pq.read_table(folder / "flows.parquet")
    row = int(np.argmax(true["trips"].to_numpy() - true["persons"].to_numpy()))
    values = table[column].to_numpy() + 0
    values[row] = true[column].to_numpy()[row] + 3
    write_table(
        table.set_column(table.column_names.index(column), table.schema.field(column), pa.array(values)),
        folder / "flows.parquet",
    )

    with pytest.raises(fv.VerificationError, match=f"{column} too far from the input"):
        fv.verify(folder, city)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"cell_key": 5}, "would have nobody"),
        ({"cell_key": 0}, "cell_key is 0"),
        ({"cell_key": 2, "rounding": 5}, "not rounded too"),
        ({"cell_key": 2, "method": "odkanon", "options": {"reinstate": False}}, "areas of a tree"),
    ],
)
def test_what_cannot_be_changed(city, keywords, message):
    """Each refusal says why."""
    flows = fv.build_flows(city, "h3:7", hierarchy="h3")

    with pytest.raises(fv.InputError, match=message):
        fv.anonymize(flows, k=5, **keywords)
