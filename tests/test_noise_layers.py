"""Noise by step of time and group: the list is public, bounds hold in their spans, and the verifier sees changes."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._matrices.layers import parse_layers
from flowveil._noise import PARTS, WindowLedger
from flowveil._verify.noise_layers import read_layers
from flowveil._verify.noise_streams import check_windows
from flowveil._verify.options import Options
from flowveil._verify.written import laid_out
from tests.test_verify import write_table

ZONES = pa.table({"zone_id": ["a", "b", "c"], "lon": [4.0, 4.1, 4.3], "lat": [50.0, 50.0, 50.2]})
MONDAY = datetime(2024, 3, 4)  # noqa: DTZ001  as written


def table(rows):
    """Return trips of (person, hours after Monday, group, origin, destination)."""
    names = ("person", "start_time", "sex", "origin", "destination")
    content = [(who, MONDAY + timedelta(hours=hour), *rest) for who, hour, *rest in rows]
    kinds = {"person": pa.string(), "start_time": pa.timestamp("us"), "sex": pa.string()}
    return pa.table(
        {name: pa.array([row[at] for row in content], kinds.get(name, pa.string())) for at, name in enumerate(names)}
    )


trip = st.tuples(
    st.sampled_from("pqr"),
    st.integers(-30, 400),
    st.sampled_from(["f", "m", "x", None]),
    *[st.sampled_from("abcz")] * 2,
)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.lists(trip, max_size=25), st.integers(1, 3), st.sampled_from(["person", "person-day", "person-week"]))
def test_bounds_hold_in_their_spans(rows, most, protect):
    """Counted trips are those of each person and span up to the bound, recounted from raw rows; others are dropped."""
    matrix = fv.build_tile_matrix(
        table(rows),
        zones=ZONES,
        time="1d",
        period="2024-03-04/2024-03-17",
        by="sex",
        groups={"sex": ["m", "f", None]},
        unit="person",
        max_trips_per_person=most,
        protect=protect,
        persons=True,
    )

    usable = [row for row in rows if 0 <= row[1] < 14 * 24 and row[2] != "x" and "z" not in row[3:]]
    spans = {"person": lambda _: 0, "person-day": lambda hour: hour // 24, "person-week": lambda hour: hour // 168}
    made = Counter((row[0], spans[protect](row[1])) for row in usable)
    assert matrix.points.counts.sum() == sum(min(count, most) for count in made.values())
    assert matrix.points.matrices == 14 * 3
    by_matrix = Counter(row[1] // 24 * 3 + ["m", "f", None].index(row[2]) for row in usable)
    for number, count in zip(matrix.points.number, matrix.points.counts, strict=True):
        assert 0 < count <= by_matrix[number]
    persons = np.bincount(matrix.visits[0], minlength=len(matrix.points.counts))
    assert (persons <= matrix.points.counts).all()
    assert matrix.provenance.rows == len(rows)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.dates(date(2019, 12, 1), date(2024, 12, 1)),
    st.integers(0, 40),
    st.sampled_from(["15min", "30min", "1h", "6h", "1d", "week", "month"]),
    st.sampled_from([None, "UTC", "Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_two_clocks_list_the_same_steps(first, days, step, zone):
    """Maker and verifier work the list out by themselves, over clock changes, too."""
    period = f"{first}/{first + timedelta(days=days)}"
    layers = parse_layers(step, None, zone, period, (), None)
    checked = read_layers(Options(time_levels=(step,), timezone=zone), {"time": step, "period": period})

    assert layers.keys.tolist() == checked.steps.tolist()


@pytest.mark.parametrize("method", ["noisy-mosaic", "laplace"])
def test_an_empty_city_has_all_steps_and_groups(method, tmp_path):
    """No trip at all, and still every matrix is published; a single trip changes nothing of the list."""
    asked = {"zones": ZONES, "time": "hour-of-day", "by": "sex", "groups": ["sex=f,m"], "epsilon": 0.5}
    release = fv.add_noise(table([]), method, **asked)
    one = fv.add_noise(table([("p", 3, "f", "a", "b")]), method, **asked)

    for each in (release, one):
        seen = set(zip(each.flows["time"].to_pylist(), each.flows["sex"].to_pylist(), strict=True))
        assert len(seen) == 48 or method == "laplace"
    assert release.manifest["options"] == one.manifest["options"]
    assert fv.verify(release.write(tmp_path / "out"), zones=ZONES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "1h"}, "must not come from the trips"),
        ({"time": "1h", "period": "last spring"}, "must not come from the trips"),
        ({"by": "sex"}, "noise needs the values"),
        ({"by": "sex", "groups": ["sex=f,f"]}, "name a value twice"),
        ({"groups": ["sex=f"]}, "noise needs the values"),
        ({"protect": "person"}, "does not go without a column of persons"),
        ({"unit": "person", "max_trips_per_person": 2, "protect": "window:3"}, "a window is of steps of the calendar"),
        (
            {"unit": "person", "max_trips_per_person": 2, "protect": "window:0", "time": "hour-of-day"},
            "the window of protect",
        ),
        ({"unit": "person", "max_trips_per_person": "auto:5,2"}, "do not rise"),
        ({"unit": "person", "protect": "person-day"}, "must be bounded"),
        ({"persons": True}, "persons are counted where"),
        ({"method": "laplace", "time_hierarchy": "hour-of-day<day"}, "laplace counts single steps"),
        ({"timezone": "Europe/Rome"}, "no clock is looked at"),
        ({"by": "scale", "groups": ["scale=1"]}, "column"),
    ],
)
def test_what_cannot_be_kept_is_refused(options, message):
    """A clear error, and nothing is drawn."""
    options = {"method": "noisy-mosaic", "zones": ZONES} | options
    with pytest.raises(fv.InputError, match=message):
        fv.add_noise(table([("p", 3, "f", "a", "b")]), epsilon=1.0, **options)


def test_windows_never_spend_more():
    """A ledger of windows adds up any steps in a row, before a draw and after it."""
    ledger = WindowLedger(1.0, 3, 6)
    ledger.part("counts", 0, PARTS // 2)
    ledger.part("counts", 2, PARTS // 2)
    with pytest.raises(fv.PromiseError, match="a window would spend more"):
        ledger.part("counts", 1, 1)
    ledger.part("counts", 3, PARTS // 2)  # step 0 is out of its window
    with pytest.raises(fv.PromiseError, match="a window would spend more"):
        ledger.part("counts", 4, PARTS // 4)
    assert ledger.largest_window() == 1.0


def test_who_changes_groups_pays_no_more():
    """Groups that change at different steps are drawn together: who is in each when it is drawn pays epsilon at most.

    The verifier adds the dearest draw of each step up, too.
    """
    moved = {"f": 3, "m": 4}  # the day from which trips of a group go elsewhere
    rows = [
        (f"{sex}{number}", 24 * day, sex, "a" if day < first else "b", "a")
        for sex, first in moved.items()
        for day in range(8)
        for number in range(60)
    ]
    asked = {"time": "1d", "period": "2024-03-04/2024-03-11", "by": "sex", "groups": ["sex=f,m"], "unit": "person"}
    release = fv.add_noise(table(rows), epsilon=60.0, zones=ZONES, max_trips_per_person=1, protect="window:3", **asked)

    promise = release.manifest["promise"]
    comparison = promise["budget"][0]["epsilon"]
    spent = np.full(8, comparison)
    for draw in promise["draws"]:
        spent[draw["matrix"] // 2] = max(spent[draw["matrix"] // 2], comparison + draw["epsilon"])
    assert {draw["matrix"] // 2 for draw in promise["draws"]} >= {0, 3}
    assert max(np.convolve(spent, np.ones(3))) <= 60.0 * (1 + 1e-9)
    layers = read_layers(Options(time_levels=("1d",), by=("sex",)), {**asked, "groups": {"sex": ["f", "m"]}})
    apart = {2 * 3: (0.6, None), 2 * 4 + 1: (0.6, None)}  # one group a step, each within its own windows
    with pytest.raises(fv.VerificationError, match="2 steps in a row spend more"):
        check_windows(1.0, 2, 0.0, apart, layers)


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Write a stream of two weeks, protected in windows of three days."""
    rows = [(f"p{n % 40}", n % 336, "fm"[n % 2], "abc"[n * n % 3], "cab"[n % 3]) for n in range(3_000)]
    release = fv.add_noise(
        table(rows),
        zones=ZONES,
        epsilon=20.0,
        time="1d",
        period="2024-03-04/2024-03-17",
        by="sex",
        groups={"sex": ["f", "m"]},
        unit="person",
        max_trips_per_person=2,
        protect="window:3",
    )
    return release.write(tmp_path_factory.mktemp("stream") / "out")


def copied(folder, tmp_path, change):
    """Copy a release, change its manifest and flows, and return it."""
    target = tmp_path / "out"
    target.mkdir()
    manifest, flows = json.loads((folder / "manifest.json").read_text()), pq.read_table(folder / "flows.parquet")
    flows = change(manifest, flows)
    for kept in folder.glob("*.parquet"):
        (target / kept.name).write_bytes(kept.read_bytes())
    (target / "manifest.json").write_bytes(laid_out(manifest))
    write_table(flows, target / "flows.parquet")
    return target


def overspent(manifest, flows):
    """Say that every draw spent all of epsilon."""
    for draw in manifest["promise"]["draws"]:
        draw["epsilon"] = manifest["promise"]["epsilon"]
    return flows


def longer(manifest, flows):
    """Promise windows of nine steps where the ledger knew three."""
    promise = manifest["promise"]
    for key in ("protects", "neighbours"):
        promise[key] = promise[key].replace("3", "9")
    manifest["promise_text"] = manifest["promise_text"].replace(" 3 steps", " 9 steps")
    return flows


def without_a_step(_, flows):
    """Leave out a step of time, all of whose areas are in other steps too: areas without flows would tell it too."""
    others = (flows.filter(pc.not_equal(flows["time"], time)) for time in pc.unique(flows["time"]))
    areas = [set(flows[side].to_pylist()) for side in ("origin", "destination")]
    return next(left for left in others if [set(left[side].to_pylist()) for side in ("origin", "destination")] == areas)


def without_a_group(manifest, flows):
    """Hide that there was a group."""
    manifest["options"]["groups"]["sex"] = ["f"]
    return flows


def not_listed(manifest, flows):
    """Forget when it was drawn: a draw is missing."""
    manifest["promise"]["draws"].pop()
    return flows


def other_counts(_, flows):
    """Change one count of a step that repeats an earlier draw, and its non-negative one."""
    trips, whole = (flows[name].to_numpy().copy() for name in ("trips", "nonnegative"))
    at = int(np.flatnonzero(flows["drawn"].to_numpy() != flows["time"].to_numpy())[0])
    trips[at] += 1
    whole[at] += 1
    return flows.set_column(4, "trips", pa.array(trips)).set_column(5, "nonnegative", pa.array(whole))


def other_words(manifest, flows):
    """Promise more than was done, in words that data do not back."""
    manifest["promise"] |= {"protects": "person", "neighbours": "one person added or removed"}
    return flows


def test_a_stream_verifies(stream, tmp_path):
    """As it was written, and copied; and steps repeat draws."""
    assert any("no window of 3 steps" in check for check in fv.verify(stream, zones=ZONES).checks)
    assert fv.verify(copied(stream, tmp_path, lambda _, flows: flows), zones=ZONES)
    answer = fv.query(stream, at=["sex=f"], origin_zones="a")
    assert answer.low <= answer.estimate <= answer.high
    assert answer.meaning.endswith("Trips beyond 2 of a person in each step of time are in no number.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (overspent, "3 steps in a row spend more"),
        (longer, "9 steps in a row spend more"),
        (without_a_step, "do not cover every pair of tiles once, in each step"),
        (without_a_group, "of a group that the manifest does not list"),
        (not_listed, "does not name the last draw"),
        (other_counts, "repeats a draw with other counts"),
        (other_words, "a stream has draws"),
    ],
)
def test_the_verifier_sees_planted_mistakes(change, message, stream, tmp_path):
    """Whoever changes the list, the draws, the window or a repeated count is caught."""
    draws = json.loads((stream / "manifest.json").read_text())["promise"]["draws"]
    if change is other_counts and len(draws) == 28:
        pytest.skip("no step was repeated: a changed count cannot be told from noise")
    with pytest.raises(fv.VerificationError, match=message):
        fv.verify(copied(stream, tmp_path, change), zones=ZONES)


def test_time_as_an_axis_covers_all_of_time(tmp_path):
    """Flows that span several hours are disjoint and cover the day; a hole is found."""
    rows = [(f"p{n}", n % 24, "f", "abc"[n % 3], "cab"[n % 3]) for n in range(2_000)]
    asked = {"zones": ZONES, "time_hierarchy": "hour-of-day<part-of-day", "unit": "person", "max_trips_per_person": 1}
    folder = fv.add_noise(table(rows), epsilon=3.0, **asked).write(tmp_path / "made")

    assert fv.verify(folder, zones=ZONES)
    spans = pq.read_table(folder / "flows.parquet")
    assert (spans["time_end"].to_numpy() > spans["time"].to_numpy()).all()
    with pytest.raises(fv.VerificationError, match="do not cover"):
        fv.verify(copied(folder, tmp_path, lambda _, flows: flows.slice(1)), zones=ZONES)


def test_auto_and_persons_are_in_the_budget(tmp_path):
    """A bound that was chosen and persons are charged, and all of it adds up; a scale too small is found."""
    rows = [(f"p{n % 300}", n % 24, "f", "abc"[n % 3], "cab"[n % 3]) for n in range(900)]
    asked = {"zones": ZONES, "time": "weekday-weekend", "unit": "person", "max_trips_per_person": "auto:1,3,9"}
    release = fv.add_noise(table(rows), epsilon=4.0, persons=True, protect="person-month", **asked)
    folder = release.write(tmp_path / "made")

    promise = release.manifest["promise"]
    assert promise["max_trips_per_person"] == 3  # all made three: the others are far off
    spent = {each["spend"]: each["epsilon"] for each in promise["budget"]}
    assert spent["max_trips_per_person"] == pytest.approx(0.2)
    assert spent["persons"] == pytest.approx(1.0)
    assert fv.verify(folder, zones=ZONES)
    assert sum(each["epsilon"] for each in release.audit["ledger"] if "epsilon" in each) == pytest.approx(4.0)

    def smaller(_, flows):
        place = flows.column_names.index("persons_scale")
        return flows.set_column(place, "persons_scale", pa.array(flows["persons_scale"].to_numpy() / 2))

    with pytest.raises(fv.VerificationError, match="noise of persons"):
        fv.verify(copied(folder, tmp_path, smaller), zones=ZONES)


@pytest.mark.slow
@pytest.mark.parametrize("protect", ["person", "person-day", "window:2"])
def test_the_account_of_every_level(protect, tmp_path):
    """Epsilons add up over releases that protect the same, on repeated runs, and are refused beside another level."""
    account = tmp_path / "account.register"
    fv.register(account, epsilon_budget=1.0)
    asked = {"zones": ZONES, "time": "1d", "period": "2024-03-04/2024-03-06", "unit": "person"}
    asked |= {"max_trips_per_person": 1, "register": account}
    trips = table([("p", 3, "f", "a", "b")])
    for number in range(2):
        fv.add_noise(trips, epsilon=0.4, protect=protect, **asked).write(tmp_path / f"{number}")

    for _ in range(2):
        with pytest.raises(fv.PromiseError, match="more than is left"):
            fv.add_noise(trips, epsilon=0.4, protect=protect, **asked)
    with pytest.raises(fv.PromiseError, match="do not add up"):
        fv.add_noise(trips, epsilon=0.1, protect="person-week", **asked)
    others = {"timezone": "Asia/Tokyo"} if protect != "person" else {}  # whose days are others, and so are hours
    others |= {"time": "1h"} if protect == "window:2" else {}
    for name, value in others.items():
        with pytest.raises(fv.PromiseError, match="do not add up"):
            fv.add_noise(trips, epsilon=0.1, protect=protect, **(asked | {name: value}))
    fv.add_noise(trips, epsilon=0.2, protect=protect, **asked).write(tmp_path / "last")
    assert fv.register(account).epsilon_spent == pytest.approx(1.0)
