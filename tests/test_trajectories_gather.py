"""Releases in which every member was seen in every sample: recounts from rows, steering, mutants, options, commands."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import InputError, PromiseError, VerificationError, trajectories
from flowveil._cli.commands import run
from flowveil._trajectories import neighbors
from flowveil.synthetic import PHONES_BBOX, phones
from tests.test_verify import write_table

BOX = "--bbox=" + ",".join(map(str, PHONES_BBOX))


@pytest.fixture(scope="module")
def records():
    """Phone records of 30 users."""
    return phones(30, samples=20)


def seen(release, table):
    """Return by published sample the members with a row in it, from the rows themselves."""
    rows = defaultdict(list)
    for user, lon, lat, time in zip(
        *(table[name].to_pylist() for name in ("user_id", "lon", "lat", "time")), strict=True
    ):
        rows[user].append((lon, lat, time))
    members = defaultdict(list)
    for row in release.members.to_pylist():
        members[row["group"]].append(row["user_id"])
    return [
        {
            user
            for user in members[box["group"]]
            for lon, lat, time in rows[user]
            if box["t0"] <= time < box["t1"] and box["lon0"] <= lon < box["lon1"] and box["lat0"] <= lat < box["lat1"]
        }
        for box in release.trajectories.to_pylist()
    ]


STEERING = st.sampled_from(
    [
        {"max_suppression": 0.3},
        {"max_suppression": 0.8},
        {"price": 0.2},
        {"price": 2.0},
        {"max_mean_extent": "2km"},
        {"max_mean_duration": "90min", "max_mean_extent": "3km"},
    ]
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.sampled_from([{"method": "gather"}, {"method": "gather", "variant": "absorb"}, {"complete_support": True}]),
    STEERING,
    st.sampled_from([{}, {"max_extent": "3km", "max_duration": "3h"}, {"min_support": 4}]),
)
def test_every_member_is_in_every_sample(tmp_path, seed, k, method, steering, limits):
    """Whatever is asked: k members or more, all of them with a row in every sample, and what was asked; or nothing."""
    table = phones(14, samples=9, days=2, seed=seed)
    try:
        release = trajectories.anonymize(table, k, bbox=PHONES_BBOX, **method, **steering, **limits)
    except PromiseError:
        return

    sizes, there = release.trajectories["size"].to_pylist(), seen(release, table)
    assert min(sizes) >= max(k, limits.get("min_support", 0))
    assert [len(users) for users in there] == sizes == release.trajectories["support"].to_pylist()
    listed = [row["user_id"] for row in release.members.to_pylist() if row["group"] is not None]
    assert len(set(listed)) == len(listed) == len(set().union(*there))
    kept = sum(release.members["kept"].to_pylist())
    assert len(table) - kept <= steering.get("max_suppression", 1) * len(table)
    out = release.write(tmp_path / "out", overwrite=True)
    assert trajectories.verify(out, table).unsupported == 0
    if "max_mean_extent" in steering:
        figures = trajectories.evaluate(out, table).figures()
        assert figures["extent"]["mean"] <= {"2km": 2000, "3km": 3000}[steering["max_mean_extent"]]
        assert figures["duration"]["mean"] <= (90 if "max_mean_duration" in steering else np.inf)
        assert np.isclose(figures["suppressed"], 1 - kept / len(table))


def test_rows_and_threads_in_any_order_give_one_release(records, monkeypatch):
    """Neither the order of rows nor the number of threads changes anything."""
    shuffled = records.take(np.random.default_rng(0).permutation(len(records)))
    options = {"bbox": PHONES_BBOX, "method": "gather", "max_suppression": 0.4}
    monkeypatch.setattr(neighbors, "_FEW", 0)
    releases = []
    for table, threads in ((records, 1), (shuffled, 3)):
        monkeypatch.setattr(neighbors, "cores", lambda threads=threads: threads)
        releases.append(trajectories.anonymize(table, 3, **options))

    one, other = releases
    assert one.trajectories.equals(other.trajectories)
    assert one.members.equals(other.members)
    assert one.manifest == other.manifest
    assert one.audit["price"] == other.audit["price"]


def test_a_budget_is_kept_and_hardly_more(records):
    """Less may be left out at a higher price only, and what is left out is near to what may be."""
    left, prices, extents = [], [], []
    for share in (0.7, 0.4, 0.1):
        release = trajectories.anonymize(records, 2, bbox=PHONES_BBOX, method="gather", max_suppression=share)
        left.append(release.audit["suppressed_rows"] / release.audit["rows"])
        prices.append(release.audit["price"])
        extents.append(release.trajectories.num_rows)
        assert share - 0.05 <= left[-1] <= share

    assert prices == sorted(prices)
    assert "price" not in json.dumps(release.manifest)  # which is found in the data


@pytest.mark.slow
def test_days_are_grouped_by_themselves(records, tmp_path):
    """Cut into days, no group counts a user twice or mixes days, and one budget holds for all days together."""
    given = {"bbox": PHONES_BBOX, "cut_into": "day", "timezone": "Europe/Brussels"}
    release = trajectories.anonymize(records, 2, method="gather", max_suppression=0.5, **given)

    assert trajectories.verify(release.write(tmp_path / "out"), records).unsupported == 0
    members = [row for row in release.members.to_pylist() if row["group"] is not None]
    days = defaultdict(set)
    for row in members:
        days[row["group"]].add(row["period"])
    assert all(len(periods) == 1 for periods in days.values())
    assert len({(row["group"], row["user_id"]) for row in members}) == len(members)
    assert release.audit["suppressed_rows"] <= 0.5 * release.audit["rows"]
    glove = trajectories.anonymize(records, 2, complete_support=True, max_suppression=0.8, **given)
    assert trajectories.verify(glove.write(tmp_path / "glove"), records).unsupported == 0


def test_what_cannot_be_met_is_refused(records):
    """No degraded release: a budget, a precision or a price that cannot be met raises, and says what to do."""
    refused = {
        "all but": {"max_suppression": 0.0, "max_extent": "300m"},
        "small and short": {"max_mean_extent": "50m"},
        "at this price": {"price": 0.001},
        "fewer than k": {"min_support": 31},
    }
    for message, options in refused.items():
        with pytest.raises(PromiseError, match=message):
            trajectories.anonymize(records, 2, bbox=PHONES_BBOX, method="gather", **options)


def test_what_is_dear_but_precise_is_found():
    """A precision is met where the price that a search begins with buys nothing, and twice that buys what is coarse."""
    rows = [("a", 4.6, 0), ("b", 4.6, 300), ("a", 4.5, 1000), ("b", 4.73, 1001)]  # 5 h at a place, 16 km at a time
    table = pa.table(
        {
            "user_id": [user for user, _, _ in rows],
            "lon": [lon for _, lon, _ in rows],
            "lat": [50.4] * 4,
            "time": pa.array([minute * 60 for _, _, minute in rows], pa.timestamp("s", tz="UTC")),
        }
    )
    for some in (table, table.slice(0, 2)):
        release = trajectories.anonymize(some, 2, bbox=PHONES_BBOX, method="gather", max_mean_extent="1km")
        assert [row["t1"].hour for row in release.trajectories.to_pylist()] == [5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_suppression": 0.1}, "every member was seen"),
        ({"price": 0.1}, "every member was seen"),
        ({"method": "gather", "price": 0.1, "max_suppression": 0.1}, "several things"),
        ({"method": "gather", "price": 0.1, "max_mean_extent": "1km"}, "several things"),
        ({"method": "gather", "variant": "loose"}, "method glove"),
        ({"method": "gather", "reshape": False}, "method glove"),
        ({"method": "gather", "blocks": 2}, "method glove"),
        ({"method": "gather", "known_points": 2}, "method km"),
        ({"method": "gather", "engine": "spark"}, "on this machine"),
        ({"complete_support": True, "reshape": False}, "without complete_support"),
        ({"method": "km", "complete_support": True}, "method gather"),
        ({"method": "km", "price": 0.1}, "method gather"),
        ({"method": "gather", "price": 0}, "price"),
        ({"method": "gather", "max_mean_extent": "2"}, "length"),
        ({"method": "gather", "max_extent": "10m"}, "smaller than the grid"),
        ({"complete_support": "yes"}, "complete_support"),
    ],
)
def test_options_that_do_not_go_together(records, options, message):
    """What would mean nothing is refused, with its reason."""
    with pytest.raises(InputError, match=message):
        trajectories.anonymize(records, 2, bbox=PHONES_BBOX, **options)


@pytest.fixture
def folder(records, tmp_path):
    """Write a release of gather."""
    release = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, method="gather", max_suppression=0.5)
    return release.write(tmp_path / "out")


def forge(folder, change):
    """Change the manifest of a release."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def less(manifest):
    """Promise a smaller budget than was kept."""
    for part in ("promise", "options"):
        manifest[part]["max_suppression"] = 0.01
    manifest["promise_text"] = manifest["promise_text"].replace("50 %", "1 %")


def precise(manifest):
    """Claim a precision that samples do not have, in place of the budget."""
    for part in ("promise", "options"):
        del manifest[part]["max_suppression"]
    manifest["options"]["max_mean_extent"] = "200m"
    manifest["promise_text"] = manifest["promise_text"].replace(
        "At most 50 % of the samples in the bounding box, of users with enough of them, were left out. ", ""
    )


MUTANTS = [
    ("left out", less),
    ("mean over samples", precise),
    ("'support' of the promise", lambda manifest: manifest["promise"].pop("support")),
    ("'support' of the promise", lambda manifest: manifest["promise"].update(support="partial")),
    ("'support' of the promise", lambda manifest: manifest.update(method="glove")),
    ("one price, budget", lambda manifest: manifest["options"].update(price=0.3)),
    ("not what may be typed", lambda manifest: manifest["options"].update(complete_support=True)),
    ("another method", lambda manifest: manifest["options"].update(variant="loose")),
    (
        "does not say",
        lambda manifest: manifest.update(promise_text=manifest["promise_text"].replace("all of", "a few of")),
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("message", "change"), MUTANTS)
def test_mutants_of_the_manifest_are_refused(folder, records, message, change):
    """A manifest that says something else than the release holds is refused."""
    forge(folder, change)
    with pytest.raises(VerificationError, match=message):
        trajectories.verify(folder, records)


def test_a_member_who_was_not_there_is_found(records, tmp_path):
    """A sample that loses all rows of a member is refused, though its support and the members file say so."""
    release = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, method="gather", price=0.6)
    out = release.write(tmp_path / "out")
    numbers = range(release.trajectories.num_rows)

    assert any(_shrink(out, release.trajectories, number, records) for number in numbers)
    with pytest.raises(VerificationError, match="was not seen in one of its samples"):
        trajectories.verify(out, records)


def _shrink(folder, table, number, records):
    """Take the lower half of a box away, count support and kept rows anew; return whether that loses a member."""
    grid = trajectories.make_grid(PHONES_BBOX)
    box = table.slice(number, 1).to_pylist()[0]
    inner = grid.cells(np.array([box["lon0"]] * 2) + 1e-7, np.array([box["lat0"] + 1e-7, box["lat1"] - 1e-7]))[1]
    middle = float(grid.latitudes(np.array([(inner[0] + inner[1] + 1) // 2]))[0])
    columns = table.to_pydict()
    columns["lat0"][number] = middle
    members = pq.read_table(folder.with_name("out.members.parquet")).to_pylist()
    own = {row["user_id"] for row in members if row["group"] == box["group"]}
    rows = [
        (user, lat)
        for user, lon, lat, time in zip(
            *(records[name].to_pylist() for name in ("user_id", "lon", "lat", "time")), strict=True
        )
        if user in own and box["t0"] <= time < box["t1"] and box["lon0"] <= lon < box["lon1"] and lat < box["lat1"]
    ]
    left = {user for user, lat in rows if lat >= middle}
    if left == own or not left or any(row["kept"] < 5 for row in members if row["user_id"] in own):
        return False
    columns["support"][number] = len(left)
    for row in members:
        gone = sum(user == row["user_id"] and box["lat0"] <= lat < middle for user, lat in rows)
        row["kept"], row["suppressed"] = row["kept"] - gone, row["suppressed"] + gone
    write_table(pa.table(columns, schema=table.schema), folder / "trajectories.parquet")
    schema = pq.read_schema(folder.with_name("out.members.parquet"))
    pq.write_table(pa.Table.from_pylist(members, schema=schema), folder.with_name("out.members.parquet"))
    return True


def test_glove_does_not_pass_for_complete(records, tmp_path):
    """A release of glove whose manifest promises complete support is refused."""
    out = trajectories.anonymize(records, 3, bbox=PHONES_BBOX).write(tmp_path / "out")
    better = trajectories.anonymize(records, 3, bbox=PHONES_BBOX, complete_support=True, price=0.5)
    forge(out, lambda manifest: manifest.update(better.manifest))
    with pytest.raises(VerificationError, match="was not seen in one of its samples"):
        trajectories.verify(out, records)


@pytest.mark.slow
def test_gather_keeps_finer_samples_than_glove():
    """At the same share of samples kept, extent and duration are smaller than GLOVE's with thresholds."""
    table = phones(120, samples=40, days=7)
    data = trajectories.read_trajectories(table, PHONES_BBOX)
    glove = trajectories.anonymize(data, 4, max_extent="15km", max_duration="6h")
    share = glove.audit["suppressed_rows"] / glove.audit["rows"]
    gather = trajectories.anonymize(data, 4, method="gather", max_suppression=share)

    extent, duration = means(gather), means(gather, "t0", "t1")
    assert extent < 0.8 * means(glove)
    assert duration < 0.8 * means(glove, "t0", "t1")
    assert gather.audit["unsupported"] == 0 < glove.audit["unsupported"]


def means(release, low="lat0", high="lat1"):
    """Return the mean of one edge of samples, each counted as often as it has users."""
    table = release.trajectories
    low, high = (table[name].cast(pa.int64()) if name[0] == "t" else table[name] for name in (low, high))
    return np.average(high.to_numpy() - low.to_numpy(), weights=table["size"].to_numpy())


def test_frontier(records, tmp_path, capsys):
    """Higher prices leave out less and are coarser; the command says the same, draws it, and refuses other files."""
    data = trajectories.read_trajectories(records, PHONES_BBOX)
    curve = trajectories.frontier(data, 2, points=4)
    rows = curve.to_pylist()

    for name, reverse in (("price", False), ("suppressed", True), ("extent", False), ("duration", False)):
        values = [row[name] for row in rows]
        assert values == sorted(values, reverse=reverse)
    same = trajectories.anonymize(data, 2, method="gather", price=rows[1]["price"])
    assert same.audit["suppressed_rows"] / same.audit["rows"] == pytest.approx(rows[1]["suppressed"])
    assert same.trajectories.num_rows == rows[1]["samples"]
    assert "samples left out" in repr(curve)
    assert curve._repr_html_().count("<circle") == 2 * len(rows)

    samples = tmp_path / "samples.parquet"
    pq.write_table(records, samples)
    common = ["trajectories", "frontier", str(samples), BOX, "-k", "2", "--points", "4"]
    assert run([*common, "--json", "-o", str(tmp_path / "curve.svg")]) == 0
    assert json.loads(capsys.readouterr().out) == rows
    assert (tmp_path / "curve.svg").read_text(encoding="utf-8") == curve._repr_html_()
    assert run([*common, "--method", "glove"]) == 0
    assert "mean duration" in capsys.readouterr().out
    assert run([*common, "--max-extent", "100m", "--max-duration", "1min"]) == 0
    told = capsys.readouterr()
    assert "of 4 prices, 4 left out" in told.err
    assert "at any price" in told.out
    assert "Pick a point" not in told.out
    assert run([*common, "-o", str(tmp_path / "curve.png")]) == 2
    assert run([*common, "--method", "km"]) == 2


@pytest.mark.slow
def test_command_report_and_attacks(records, tmp_path, capsys):
    """The command writes a release that verifies, is shown and evaluated, and that no attack breaks."""
    samples = tmp_path / "samples.parquet"
    pq.write_table(records, samples)
    out = tmp_path / "out"
    asked = ["--method", "gather", "--max-suppression", "0.4", "--report", "-o", str(out)]
    assert run(["trajectories", "anonymize", str(samples), BOX, "-k", "3", *asked]) == 0
    assert "all of its users were seen" in capsys.readouterr().out
    assert run(["trajectories", "verify", str(out), "--against", str(samples)]) == 0
    assert "every sample holds a kept row of every member" in capsys.readouterr().out
    assert run(["evaluate", str(out), "--against", str(samples)]) == 0

    risks = fv.risk(out, samples)
    assert {finding.verdict for finding in risks.findings} == {"holds"}
    assert (
        run(["trajectories", "anonymize", str(samples), BOX, "--max-suppression", "0.4", "-o", str(tmp_path / "x")])
        == 2
    )
    assert not (tmp_path / "x").exists()
