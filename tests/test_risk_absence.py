"""What a missing flow tells of a group, next to totals: claims, right ones, and the base rate."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._risk.absence import Score, _chance_of_many, _chance_of_some

ZONES = pa.table({"zone_id": [f"z{n}" for n in range(8)], "lon": [float(n) for n in range(8)], "lat": [1.0] * 8})
PAIRS = [(f"z{n}", f"z{m}") for n in range(8) for m in range(8) if n != m]


def trips(counts):
    """Return trips of men and women, one each, by pair of zones."""
    rows = [
        (origin, destination, sex)
        for (origin, destination), numbers in counts.items()
        for sex, number in zip(("male", "female"), numbers, strict=True)
        for _ in range(number)
    ]
    names = ("origin", "destination", "sex")
    return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


def planted(folder, table, published):
    """Write a release at k = 10 that has a flow or total exactly where `published` says so, whatever verify thinks."""
    flows = fv.build_flows(table, zones=ZONES, hierarchy="ward", by="sex")
    fv.anonymize(flows, "suppression", k=1).write(folder)
    path = folder / "flows.parquet"
    every = pq.read_table(path)
    kept = {(row["origin"], row["destination"], row["sex"]): row["trips"] for row in every.to_pylist()}
    rows = []
    for origin, destination in PAIRS:
        ends = {"origin": f"ward:{origin[1:]}", "destination": f"ward:{destination[1:]}"}
        numbers = {sex: kept.get((*ends.values(), sex), 0) for sex in ("female", "male")}
        numbers["total"] = sum(numbers.values())
        rows += [ends | {"sex": sex, "trips": number} for sex, number in numbers.items() if published(sex, numbers)]
    pq.write_table(pa.Table.from_pylist(rows, every.schema), path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["promise"] |= {"k": 10, "totals": True}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def crowded(sex, numbers):
    """Whether a flow of a group has its crowd."""
    return sex != "total" and numbers[sex] >= 10


def attack(folder, table=None):
    """Return what the attack finds."""
    (finding,) = fv.risk(folder, table, attacks="absence", zones=None if table is None else ZONES).findings
    return finding


def test_two_hidden_groups_that_fill_a_total(tmp_path):
    """18 of which neither men nor women have a flow are 9 and 9: claimed, right, and far above the base rate."""
    random = np.random.default_rng(1)
    few = {pair: (9, 9) if number % 7 == 0 else tuple(random.integers(0, 10, 2)) for number, pair in enumerate(PAIRS)}
    counts = few | {PAIRS[0]: (20, 20)}
    table = trips(counts)
    folder = planted(tmp_path / "out", table, lambda sex, n: crowded(sex, n) or (sex == "total" and n["total"] >= 10))

    blind, seeing = attack(folder), attack(folder, table)

    assert (blind.verdict, seeing.verdict) == ("tells", "breaks")
    assert blind.figure == seeing.details["rest"]["claims"]
    # With 10 to 18 trips, each of two hidden groups has at least one.
    assert blind.figure == 2 * sum(10 <= sum(pair) <= 18 for pair in counts.values() if max(pair) < 10)
    assert seeing.details["rest"]["right_share"] == 1 > seeing.details["rest"]["base_rate"]


def test_a_total_that_is_there_only_for_nobody(tmp_path):
    """Where a total is published for no woman and held back for a few, a missing total tells that there are a few."""
    counts = {pair: (15, number % 10 if number % 2 else 0) for number, pair in enumerate(PAIRS)}
    table = trips(counts | {PAIRS[0]: (15, 15)})
    folder = planted(tmp_path / "out", table, lambda sex, n: crowded(sex, n) or (sex == "total" and n["female"] == 0))

    finding = attack(folder, table)

    assert finding.verdict == "breaks"
    assert finding.details["missing"]["right_share"] == 1
    assert finding.details["missing"]["base_rate"] == pytest.approx(0.5, abs=0.05)


def test_totals_that_are_held_back_alike_tell_nothing(tmp_path):
    """The same trips with totals held back for nobody and for a few: claims are right at the base rate."""
    counts = {pair: (15, number % 10 if number % 2 else 0) for number, pair in enumerate(PAIRS)}
    table = trips(counts | {PAIRS[0]: (15, 15)})
    folder = planted(tmp_path / "out", table, crowded)

    finding = attack(folder, table)

    assert (finding.verdict, finding.figure) == ("holds", 0)
    assert finding.details["missing"]["right_share"] == pytest.approx(finding.details["missing"]["base_rate"])


def test_a_release_with_totals_holds(tmp_path):
    """In a release of flowveil a missing flow tells no more than the base rate, with the true trips and without."""
    path = tmp_path / "trips.parquet"
    fv.synthetic.write_city(path, trips=6_000, persons=3_000)
    flows = fv.build_flows(path, "h3:7", hierarchy="h3", by="sex")
    folder = fv.anonymize(flows, k=10, totals=True).write(tmp_path / "out")

    blind, seeing = attack(folder), fv.risk(folder, path, attacks="absence").findings[0]

    assert (blind.verdict, blind.figure) == ("holds", 0)
    assert seeing.verdict == "holds"
    assert seeing.private
    assert not blind.private


def test_a_release_beside_is_a_whole(tmp_path):
    """Everybody in one release and groups in another tell what totals would."""
    table = trips(dict.fromkeys(PAIRS, (9, 9)) | {PAIRS[0]: (20, 20)})
    flows = {by: fv.build_flows(table, zones=ZONES, hierarchy="ward", by=by) for by in ((), ("sex",))}
    everybody, groups = (
        fv.anonymize(part, "suppression", k=10).write(tmp_path / "-".join(("out", *by))) for by, part in flows.items()
    )

    alone = fv.risk(groups, attacks="absence")
    (finding,) = fv.risk(groups, beside=everybody, attacks="absence").findings

    assert alone.findings == ()
    assert finding.figure == 2 * (len(PAIRS) - 1)


def test_chance_is_no_finding():
    """A few right claims more than expected are chance; many are not."""
    assert not Score(100, 52, 50.0, _chance_of_many(np.full(100, 0.5), 52)).tells
    assert Score(100, 70, 50.0, _chance_of_many(np.full(100, 0.5), 70)).tells
    assert not Score(0, 0, 0.0, _chance_of_some(0, 0, 0, 0)).tells


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(0, 9), st.integers(0, 9))
def test_chances_are_those_of_all_draws(places, made, right):
    """How likely so many are right equals what counting all draws gives, with places put back and without."""
    made = min(made, len(places))
    draws = [sum(draw) >= right for draw in itertools.combinations(places, made)]
    share = sum(places) / len(places)
    tails = [math.comb(made, number) * share**number * (1 - share) ** (made - number) for number in range(made + 1)]

    assert _chance_of_some(len(places), sum(places), made, right) == pytest.approx(sum(draws) / len(draws))
    assert _chance_of_many(np.full(made, share), right) == pytest.approx(sum(tails[right:]))
