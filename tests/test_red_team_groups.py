"""Attacks on releases by time and group: what they must refuse, and what the verifier must notice."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._errors import InputError, VerificationError
from flowveil._release.manifest import promise_text
from tests.test_verify import write_table

ZONES = pa.table({"zone_id": ["a", "b"], "lon": [1.0, 2.0], "lat": [1.0, 2.0]})


def trips(men=12, women=11):
    """Return trips of men and women from a to b, one each, half of them at 8 and half at 9."""
    count = men + women
    return pa.table(
        {
            "origin": ["a"] * count,
            "destination": ["b"] * count,
            "person": [f"p{number}" for number in range(count)],
            "sex": ["male"] * men + ["female"] * women,
            "start_time": [datetime(2024, 1, 2, 8 + number % 2, tzinfo=UTC) for number in range(count)],
        }
    )


def flows_of(table, **options):
    """Return flows between the two zones."""
    return fv.build_flows(table, zones=ZONES, **{"unit": "person"} | options)


def written(folder, table, k=10, build=None, **keywords):
    """Write a release and return its folder."""
    fv.anonymize(flows_of(table, **build or {}), k=k, **keywords).write(folder)
    return folder


def blank(table, column, rows):
    """Return a table with nulls in the first rows of a column."""
    values = [None] * rows + table[column].to_pylist()[rows:]
    return table.set_column(table.column_names.index(column), column, pa.array(values, table.schema.field(column).type))


# A release beside another one of other rows.


@pytest.mark.slow
@pytest.mark.parametrize("column", ["start_time", "person"])
def test_rows_that_one_of_two_releases_cannot_use(column, tmp_path):
    """Everybody less those with a time (an id) are the three without: neither maker nor verifier may miss them."""
    table = blank(trips(), column, 3)
    first, second = ({}, {"time": "1d"}) if column == "start_time" else ({"unit": None}, {})
    whole = written(tmp_path / "whole", table, build=first)
    known = written(tmp_path / "known", table, build=second)

    with pytest.raises(InputError, match="not made from all of these trips"):
        fv.anonymize(flows_of(table, **second), k=10, beside=whole)
    for one, other in ((whole, known), (known, whole)):
        with pytest.raises(VerificationError):
            fv.verify(one, table, zones=ZONES, beside=other)


def test_part_of_the_trips_beside_all_of_them(tmp_path):
    """10 of 13 persons beside all 13: the rest of three is not among the trips of the new release."""
    table = trips(10, 3)
    whole = written(tmp_path / "whole", table)
    men = table.filter(pa.compute.equal(table["sex"], "male"))

    with pytest.raises(InputError, match="not made from all of these trips"):
        fv.anonymize(flows_of(men), k=10, beside=whole)


def test_less_than_asked_for_in_the_earlier_release(tmp_path):
    """An earlier release with a lower k is refused in words."""
    whole = written(tmp_path / "whole", trips(6, 0), k=5)

    with pytest.raises(InputError, match="fewer people"):
        fv.anonymize(flows_of(trips(6, 0)), k=6 + 1, max_suppression=1, beside=whole, method="suppression")


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("totals", "beside"), ("elsewhere", "beside"), ("elsewhere", "totals")])
def test_layers_that_are_not_checked_together(pair, tmp_path):
    """Totals are checked against groups, and groups against a release beside, but not all three."""
    whole = written(tmp_path / "whole", trips())
    keywords = {"totals": True, "elsewhere": True, "beside": whole}

    with pytest.raises(InputError, match="do not go together"):
        fv.anonymize(flows_of(trips(), by="sex"), k=10, **{name: keywords[name] for name in pair})


def test_totals_are_not_verified_beside(tmp_path):
    """A release with totals has two layers, and the verifier compares two, not three."""
    whole = written(tmp_path / "whole", trips())
    by_sex = written(tmp_path / "sex", trips(), build={"by": "sex"}, totals=True)

    with pytest.raises(InputError, match="cannot be compared"):
        fv.verify(by_sex, trips(), zones=ZONES, beside=whole)


# Areas of earlier releases.


@pytest.mark.slow
@pytest.mark.parametrize("hierarchy", ["hour-of-day<day", "1h<day"])
def test_areas_without_times_serve_all_of_time(hierarchy, tmp_path):
    """Where the earlier release has no times, flows on its areas are over all of them."""
    whole = written(tmp_path / "whole", trips())

    release = fv.anonymize(flows_of(trips(), time_hierarchy=hierarchy), k=10, areas_from=whole)
    release.write(tmp_path / "out")

    fv.verify(tmp_path / "out", trips(), zones=ZONES, beside=whole)
    ends = {"hour-of-day<day": (0, 24), "1h<day": (None, None)}[hierarchy]
    assert [(row["time"], row["time_end"]) for row in release.flows.to_pylist()] == [ends]


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop_columns(["sex"]),
        lambda table: table.drop_columns(["time"]),
        lambda table: blank(table, "trips", 1),
        lambda table: table.set_column(0, "origin", pa.array(range(table.num_rows))),
        lambda table: table.set_column(table.num_columns - 2, "trips", pa.array(["many"] * table.num_rows)),
    ],
)
def test_earlier_folders_that_are_not_what_they_say(change, tmp_path):
    """A folder that was tampered with is refused, not a crash."""
    build = {"by": "sex", "time": "hour-of-day"}
    early = written(tmp_path / "early", trips(), k=5, build=build)
    table = change(pq.read_table(early / "flows.parquet"))
    pq.write_table(table, early / "flows.parquet")

    for name in ("areas_from", "beside"):
        with pytest.raises(InputError):
            fv.anonymize(flows_of(trips(), **build), k=5, **{name: early})


# Names and spellings.


@pytest.mark.parametrize("by", [["Trips"], ["TIME"], ["Sex", "sex"]])
def test_names_that_differ_in_case_only(by):
    """SQL takes Trips for trips, so no release has both."""
    table = trips().append_column("Trips", trips()["sex"]).append_column("TIME", trips()["sex"])

    with pytest.raises(InputError):
        flows_of(table, by=by)


def _edit(folder, change):
    """Change the manifest of a release, laid out as the format says."""
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def _without_totals(manifest):
    del manifest["promise"]["totals"]
    manifest["promise_text"] = promise_text(manifest["promise"])


MANIFESTS = {
    "totals that are not promised": _without_totals,
    "spaces": lambda m: m["options"].update(time_hierarchy="hour-of-day < day"),
    "another clock": lambda m: m["options"].update(timezone="Asia/Tokyo"),
    "a column of groups more": lambda m: m["options"].update(by=["sex", "origin_again"]),
    "no groups": lambda m: m["options"].pop("by"),
    "another cycle": lambda m: m["options"].update(time_hierarchy="hour-of-week<day"),
}


def hidden_groups():
    """Return trips of men, and of groups that are too small to be published but a crowd together."""
    table = trips()
    sex = ["male"] * 12 + [f"other {number // 2}" for number in range(11)]
    return table.set_column(table.column_names.index("sex"), "sex", pa.array(sex))


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Write a release over time and groups, with totals that hold a hidden crowd."""
    build = {"by": "sex", "time_hierarchy": " hour-of-day <day", "timezone": "UTC"}
    folder = written(
        tmp_path_factory.mktemp("honest") / "out", hidden_groups(), k=5, build=build, totals=True, max_suppression=0.5
    )
    assert "total" in pq.read_table(folder / "flows.parquet")["sex"].to_pylist()
    fv.verify(folder, hidden_groups(), zones=ZONES)
    return folder


def _copy(folder, target):
    target.mkdir()
    for file in folder.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


@pytest.mark.slow
def test_laying_out_a_manifest_again_is_no_change(honest, tmp_path):
    """The way mutants are written does not fail by itself."""
    copy = _copy(honest, tmp_path / "out")
    _edit(copy, lambda _: None)

    fv.verify(copy, hidden_groups(), zones=ZONES)
    assert json.loads((copy / "manifest.json").read_text())["options"]["time_hierarchy"] == "hour-of-day<day"


@pytest.mark.slow
@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_that_say_something_else(name, honest, tmp_path):
    """What the manifest says of time and groups must be so."""
    copy = _copy(honest, tmp_path / "out")
    _edit(copy, MANIFESTS[name])

    with pytest.raises(VerificationError):
        fv.verify(copy, hidden_groups(), zones=ZONES)


def _put(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type))


_MOVED = {"male": -1, "female": 1, "total": 0}
FLOWS = {
    "begin and end exchanged": lambda t: _put(
        _put(t, "time", t["time_end"].to_pylist()), "time_end", t["time"].to_pylist()
    ),
    "a total that is called a group": lambda t: _put(
        t, "sex", ["total" if s == "male" else "male" if s == "total" else s for s in t["sex"].to_pylist()]
    ),
    "trips moved between groups": lambda t: _put(
        _put(t, "trips", [n + _MOVED[s] for n, s in _columns(t, "trips", "sex")]),
        "persons",
        [n + _MOVED[s] for n, s in _columns(t, "persons", "sex")],
    ),
    "only totals": lambda t: t.filter(pa.compute.equal(t["sex"], "total")),
    "beyond the day": lambda t: _put(t, "time", [value + 24 for value in t["time"].to_pylist()]),
    "far away": lambda t: _put(t, "time", [2**63 - 1] * t.num_rows),
}


def _columns(table, *names):
    return zip(*(table[name].to_pylist() for name in names), strict=True)


@pytest.mark.parametrize("name", FLOWS)
def test_flows_that_say_something_else(name, honest, tmp_path):
    """What the flows say of time and groups must be so."""
    copy = _copy(honest, tmp_path / "out")
    table = FLOWS[name](pq.read_table(copy / "flows.parquet"))
    keys = [(column, "ascending") for column in ("origin", "destination", "time", "time_end", "sex")]
    write_table(table.sort_by(keys), copy / "flows.parquet")

    with pytest.raises(VerificationError):
        fv.verify(copy, hidden_groups(), zones=ZONES)


@pytest.mark.slow
@pytest.mark.parametrize("moment", [253_402_297_200, -62_135_596_800])
@pytest.mark.parametrize("build", [{"time": "1d"}, {"time_hierarchy": "1h<day<week"}])
def test_times_at_the_ends_of_the_calendar(moment, build, tmp_path):
    """The last hour of the year 9999 and the first of the year 1 are found to be wrong, though Python ends there."""
    folder = written(tmp_path / "out", trips(), build=build | {"timezone": "Europe/Rome"})
    table = pq.read_table(folder / "flows.parquet")
    write_table(_put(table, "time", [moment * 1_000_000] * table.num_rows), folder / "flows.parquet")

    with pytest.raises(VerificationError):
        fv.verify(folder, trips(), zones=ZONES)
