"""Releases that bound the share of one person: recounted in plain pandas, verified, tampered with."""

from __future__ import annotations

import json
import math

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._methods import mondrian_kernels
from flowveil._release.manifest import promise_text
from flowveil.synthetic import CITY_BBOX

ZONES = pa.table(
    {
        "zone": ["a", "b", "c", "d", "e", "f"],
        "district": ["x", "x", "y", "y", "z", "z"],
        "lon": [0.0, 0.1, 1.0, 1.1, 2.0, 2.1],
        "lat": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    }
)
HIERARCHIES = (["zone", "district"], "ward", "many")
LAST = "max_suppression"  # keys stand in the order of the format
COLUMNS = ("origin", "destination", "person", "hour", "group")


def table_of(rows):
    """Return trips (origin, destination, person, hour, group) as a table."""
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    columns["start_time"] = [f"2026-03-02T{hour:02}:00:00" for hour in columns.pop("hour")]
    return pa.table({name: pa.array(values) for name, values in columns.items()})


@st.composite
def trips(draw):
    """Draw trips of which few people make most."""
    zone, person = (
        st.sampled_from("abcdef"),
        st.integers(0, 12).map(lambda number: f"p{number * number // 12}"),
    )
    rows = st.tuples(zone, zone, person, st.integers(7, 9), st.sampled_from(["f", "m"]))
    return draw(st.lists(rows, min_size=20, max_size=80))


def members_of(areas, side):
    """Return by area of a side its zones; the top has all."""
    rows = [row for row in areas.to_pylist() if row["side"] == side]
    return {row["area"]: row["members"] or list("abcdef") for row in rows}


def largest_share(release, frame):
    """Return the largest share of one person in any flow, counted row by row from the trips."""
    origins, destinations = (members_of(release.areas, side) for side in ("origin", "destination"))
    counted, worst = pd.Series(data=False, index=frame.index), 0.0
    flows = release.flows.to_pylist()
    for row in sorted(flows, key=lambda row: "elsewhere" in (row["origin"], row["destination"])):
        inside = ~counted
        for end, members in (("origin", origins), ("destination", destinations)):
            if row[end] != "elsewhere":
                inside &= frame[end].isin(members[row[end]])
        if "time" in row:
            inside &= pd.to_datetime(frame["start_time"]) == row["time"].replace(tzinfo=None)
        if "group" in row:
            inside &= frame["group"] == row["group"]
        made = frame[inside].groupby("person").size()
        if row["origin"] != "elsewhere" and row["destination"] != "elsewhere":
            assert made.sum() == row["trips"]
            counted |= inside
            worst = max(worst, made.max() / made.sum())
    return worst


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(trips(), st.sampled_from([0.25, 0.5]), st.sampled_from([{}, {"by": "group"}]))
def test_plain_recount_finds_nobody_above_the_share(rows, share, divided):
    """One person makes at most the share of each flow: by pandas, from the trips."""
    check_shares(rows, share, divided, HIERARCHIES[0])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    trips(),
    st.sampled_from([0.25, 0.4, 0.5]),
    st.sampled_from([{}, {"time": "1h"}, {"by": "group"}]),
    st.sampled_from(HIERARCHIES),
)
def test_plain_recount_of_every_kind(rows, share, divided, hierarchy):
    """The same on all hierarchies, by steps of time and groups."""
    check_shares(rows, share, divided, hierarchy)


def check_shares(rows, share, divided, hierarchy):
    """Make a release and count it again."""
    table = table_of(rows)
    flows = fv.build_flows(table, zones=ZONES, hierarchy=hierarchy, unit="person", **divided)
    try:
        release = fv.anonymize(flows, k=2, max_share=share, max_suppression=1.0)
    except fv.PromiseError:
        return

    assert largest_share(release, table.to_pandas()) <= share


@pytest.fixture(scope="module")
def tampered(city_trips, tmp_path_factory):
    """Return a release that bounds no share."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy="h3")
    folder = fv.anonymize(flows, k=3).write(tmp_path_factory.mktemp("tampered") / "out")
    folder.with_name("out.audit.json").unlink()  # which has hashes of the files
    return folder


def claim(folder, **more):
    """Let a manifest promise more than its release was made for."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    promise = {name: value for name, value in manifest["promise"].items() if name not in ("max_share", LAST)} | more
    promise[LAST] = manifest["promise"][LAST]
    words = promise_text(promise) if isinstance(more["max_share"], float) else manifest["promise_text"]
    manifest |= {"promise": promise, "promise_text": words}
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


@pytest.mark.slow
def test_verify_catches_a_share_that_is_only_claimed(tampered, city_trips):
    """A release in which somebody makes more than 30 % of a flow does not pass as one that bounds it."""
    fv.verify(tampered, city_trips)
    claim(tampered, max_share=0.3)

    with pytest.raises(fv.VerificationError, match="makes more than 30 % of its trips"):
        fv.verify(tampered, city_trips)


def test_verify_draws_the_line_where_the_largest_share_is(tampered, city_trips):
    """The share of the person who makes most of a flow may be promised, and not a millionth less."""
    claim(tampered, max_share=0.999)
    (finding,) = fv.risk(tampered, city_trips, attacks="dominance").findings
    worst = finding.details["worst_share"] * 1_000_000
    claim(tampered, max_share=math.ceil(worst) / 1_000_000)
    fv.verify(tampered, city_trips)

    claim(tampered, max_share=(math.ceil(worst) - 1) / 1_000_000)
    with pytest.raises(fv.VerificationError, match="of its trips"):
        fv.verify(tampered, city_trips)


@pytest.mark.parametrize("share", [0, 1, 1.5, "0.5", True, None])
def test_verify_refuses_a_share_that_is_none(tampered, city_trips, share):
    """The promise holds a number above 0 and below 1, or it is refused."""
    claim(tampered, max_share=share)

    with pytest.raises(fv.VerificationError, match="max_share"):
        fv.verify(tampered, city_trips)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"elsewhere": True},
        {"remainders": True},
        {"method": "crosscut"},
        {"method": "odkanon"},
        pytest.param({"method": "nested"}, marks=pytest.mark.slow),
        pytest.param({"method": "oigh"}, marks=pytest.mark.slow),
        pytest.param({"method": "atg-soft"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_releases_with_a_share_verify(city_trips, tmp_path, options):
    """Each option and method that goes with it gives a release that the verifier's own count confirms."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy="h3", by="sex")

    release = fv.anonymize(flows, k=5, max_share=0.3, **options)
    result = fv.verify(release.write(tmp_path / "out"), city_trips)

    assert "nobody makes more than 30 % of the trips of a flow" in result.checks
    assert (
        "No single value of person_id makes more than 30 % of the trips of a flow." in release.manifest["promise_text"]
    )


@pytest.mark.slow
def test_time_as_an_axis_keeps_the_share(city_trips, tmp_path):
    """Where time is generalized like places, flows of every step and part of the day keep it too."""
    flows = fv.build_flows(
        city_trips, "h3:5", unit="person_id", hierarchy="h3", time_hierarchy="1h<part-of-day<day", timezone="UTC"
    )

    release = fv.anonymize(flows, k=3, max_share=0.3)

    fv.verify(release.write(tmp_path / "out"), city_trips)
    assert release.flows.num_rows > 1


def test_frontier_keeps_the_share(city_trips):
    """What a method reaches with a bounded share is never finer than without, at no trips left out and beyond."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy="h3")

    plain, bounded = (fv.frontier(flows, k=5, points=5, max_share=share) for share in (None, 0.1))

    finest = [min(curve["gbar"].to_pylist()) for curve in (plain, bounded)]
    assert finest[0] <= finest[1]
    assert not plain.table.equals(bounded.table)


def test_mondrian_cuts_where_both_halves_keep_the_share(city_trips, tmp_path):
    """Compiled and plain loops cut alike; no region passes the share, and nothing is left out."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", bbox=CITY_BBOX, hierarchy="h3")
    release = fv.anonymize(flows, "mondrian", k=5, max_share=0.1)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("crowd_passes", "cut_values", "best_cut", "partition"):
            patch.setattr(mondrian_kernels, name, getattr(mondrian_kernels, f"_{name}"))
        plain = fv.anonymize(flows, "mondrian", k=5, max_share=0.1)

    fv.verify(release.write(tmp_path / "out"), city_trips)
    assert release.flows.equals(plain.flows)
    assert 1 < release.flows.num_rows < fv.anonymize(flows, "mondrian", k=5).flows.num_rows
    assert release.metrics()["suppressed"] == 0
    with pytest.raises(fv.PromiseError):
        fv.anonymize(flows, "mondrian", k=5, max_share=0.0001)


def test_row_order_does_not_matter(city_trips):
    """Trips in another order give the same flows."""
    table = pq.read_table(city_trips)
    turned = table.take(list(range(table.num_rows))[::-1])

    one, other = (
        fv.anonymize(fv.build_flows(rows, "h3:6", unit="person_id", hierarchy="h3"), k=5, max_share=0.25).flows
        for rows in (table, turned)
    )

    assert one.equals(other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"method": "glove-od"}, "cannot keep out flows"),
        ({"method": "knapsack"}, "cannot keep out flows"),
        ({"totals": True}, "does not go with totals"),
        ({"beside": "out"}, "does not go with totals"),
        ({"hide_choice": 0.5}, "whatever is drawn"),
    ],
)
def test_what_does_not_go_together_is_refused(city_trips, options, reason):
    """An option or method that could not keep the share is an error before any work."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy="h3", by="sex")

    with pytest.raises(fv.InputError, match=reason):
        fv.anonymize(flows, k=5, max_share=0.3, **options)


def test_share_needs_persons(city_trips, tmp_path, capsys):
    """Without a unit nobody knows whose trips these are."""
    flows = fv.build_flows(city_trips, "h3:6", hierarchy="h3")

    with pytest.raises(fv.InputError, match="no column of them was named"):
        fv.anonymize(flows, k=5, max_share=0.3)
    assert run(["anonymize", str(city_trips), "-o", str(tmp_path / "out"), "--max-share", "0.3"]) == 2
    assert "--unit" in capsys.readouterr().err


def test_share_that_nobody_keeps_is_said(city_trips):
    """A share that every flow breaks is a promise that cannot be kept."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy="h3")

    with pytest.raises(fv.PromiseError, match="left out"):
        fv.anonymize(flows, k=5, max_share=0.0001)
