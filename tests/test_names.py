"""Names of areas: they follow from public geometry, and the verifier refuses any other text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._folder.writing import _json, _write_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ZONES = 6


def zones(**columns: list[object]) -> pa.Table:
    """Return squares in a row, each wider than the one before."""
    shapes = [shapely.to_wkt(shapely.box(4 + n, 50, 4.1 + n + 0.05 * n, 50.1)) for n in range(ZONES)]
    plain = {"zone_id": [f"z{n}" for n in range(ZONES)], "geometry": shapes}
    return pa.table(plain | columns)


def trips() -> pa.Table:
    """Return trips between all zones, fewer between those with high numbers."""
    pairs = [(f"z{a}", f"z{b}") for a in range(ZONES) for b in range(ZONES) for _ in range(12 - a - b)]
    return pa.table({"origin": [a for a, _ in pairs], "destination": [b for _, b in pairs]})


def release(table: pa.Table, hierarchy: object = "ward", k: int = 10, **options: object) -> fv.Release:
    """Return a release between zones."""
    return fv.anonymize(fv.build_flows(trips(), zones=table, hierarchy=hierarchy, **options), k=k, max_suppression=0.2)


def names(release: fv.Release) -> dict[str, str | None]:
    """Return the names of areas by id."""
    return dict(zip(release.areas["area"].to_pylist(), release.areas["name"].to_pylist(), strict=True))


def test_a_zone_has_its_own_name_and_a_joined_area_that_of_its_largest_zone() -> None:
    """The column is found by itself; joined zones are named after the largest, and how many others there are."""
    made = release(zones(Zone_Name=[f"Quarter {n}" for n in range(ZONES)]))
    assert made.areas.column_names[:2] == ["area", "name"]
    assert made.manifest["options"]["zone_name"] == "Zone_Name"
    rows = made.areas.to_pylist()
    joined = [row for row in rows if row["members"] and len(row["members"]) > 1]
    assert joined
    for row in rows:
        if row["members"] is None:
            assert row["name"] == "All zones"
        else:
            last = f"Quarter {row['members'][-1][1:]}"  # the widest
            others = len(row["members"]) - 1
            assert row["name"] == (f"{last} + {others}" if others else last)


@pytest.mark.parametrize(("column", "typed"), [("NAME", None), ("label", None), ("what", "what")])
def test_the_column_of_names_is_found_or_told(column: str, typed: str | None) -> None:
    """A column is known by what it is called, whatever its case; any other is named by --zone-name."""
    made = release(zones(**{column: [f"Quarter {n}" for n in range(ZONES)]}), zone_name=typed)
    assert any(name.startswith("Quarter") for name in names(made).values() if name)


def test_zones_without_names_are_called_by_their_ids() -> None:
    """An empty --zone-name asks for ids, and so does a zone whose name is missing."""
    table = zones(name=["A", None, *["A"] * 4])
    assert names(release(table, zone_name=""))["ward:0"] == "z0"
    assert names(release(table, k=1)).get("ward:1", "z1") == "z1"


def test_columns_give_their_values() -> None:
    """An area that is a value of a column is called so, with what is above it where the value alone is not unique."""
    table = zones(town=["X", "X", "Y", "X", "X", "Y"], county=["A", "A", "A", "B", "B", "B"])
    named = names(release(table, ["zone_id", "town", "county"], k=60))
    known = {"county=A": "A", "county=B": "B", "county=A/town=X": "X, A", "county=B/town=X": "X, B"}
    found = {area: name for area, name in named.items() if area in known}
    assert found
    assert found == {area: known[area] for area in found}


def test_a_column_of_names_needs_zones() -> None:
    """A name column without zones, or one that the zones do not have, is an error."""
    with pytest.raises(fv.FlowveilError, match="goes with zones"):
        fv.build_flows(trips(), "h3:7", zone_name="name")
    with pytest.raises(fv.FlowveilError, match="nom"):
        release(zones(), zone_name="nom")


TEXTS = st.text(st.characters(codec="utf-8"), max_size=100)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.none() | TEXTS, min_size=ZONES, max_size=ZONES))
def test_any_text_becomes_one_short_line_and_verifies(tmp_path_factory: pytest.TempPathFactory, given: list) -> None:
    """Whatever stands in the zones file: names are one printable line of bounded length, and the verifier agrees."""
    table = zones(name=given)
    made = release(table)
    for name in names(made).values():
        assert name
        assert name.isprintable()
        assert len(name) <= 90
    folder = made.write(tmp_path_factory.mktemp("names") / "out")
    fv.verify(folder, trips(), zones=table)


def spoil(folder: Path, change: Callable[[list[dict]], None]) -> None:
    """Write areas.parquet again with other rows."""
    path = folder / "areas.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    columns = [pa.array([row[name] for row in rows], table.schema.field(name).type) for name in table.column_names]
    geo = {"geo": pq.read_metadata(path).metadata[b"geo"].decode()}
    _write_table(pa.table(columns, names=table.column_names).replace_schema_metadata(geo), path)


def swap(rows: list[dict]) -> None:
    """Exchange the names of two areas."""
    one, other = rows[0], next(row for row in rows if row["name"] != rows[0]["name"])
    one["name"], other["name"] = other["name"], one["name"]


WRONG: dict[str, Callable[[list[dict]], None]] = {
    "planted": lambda rows: rows[0].update(name="12 trips of Mr. Smith"),
    "empty": lambda rows: rows[-1].update(name=""),
    "none": lambda rows: rows[0].update(name=None),
    "longer": lambda rows: rows[0].update(name=f"{rows[0]['name']} "),
    "of another area": swap,
}


@pytest.mark.slow
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("hierarchy", ["ward", "many", ["zone_id", "town"]], ids=str)
def test_a_name_that_geometry_does_not_give_is_refused(
    tmp_path: Path, hierarchy: object, change: Callable[[list[dict]], None]
) -> None:
    """A name is free text: any but the one that follows from the zones could carry data."""
    table = zones(name=[f"Quarter {n}" for n in range(ZONES)], town=["X", "X", "Y", "Y", "Z", "Z"])
    folder = release(table, hierarchy).write(tmp_path / "out")
    fv.verify(folder, trips(), zones=table)
    spoil(folder, change)
    with pytest.raises(fv.VerificationError, match="name of the area"):
        fv.verify(folder, trips(), zones=table)


@pytest.mark.parametrize("method", ["mondrian", "glove-od"])
def test_rectangles_are_named_by_the_zones_in_them(tmp_path: Path, method: str) -> None:
    """Rectangles have no other names than those of the zones whose centers they hold."""
    table = zones(name=[f"Quarter {n}" for n in range(ZONES)])
    made = fv.anonymize(fv.build_flows(trips(), zones=table, hierarchy="ward"), method, k=10)
    assert all(name and name.startswith("Quarter") for name in names(made).values())
    folder = made.write(tmp_path / "out")
    fv.verify(folder, trips(), zones=table)
    spoil(folder, lambda rows: rows[-1].update(name="x"))
    with pytest.raises(fv.VerificationError, match="name"):
        fv.verify(folder, trips(), zones=table)


def test_elsewhere_is_called_so(tmp_path: Path) -> None:
    """The other end of trips that were left out has the one name that the format gives it."""
    ids = "abcdefghij"
    table = pa.table({"zone_id": list(ids), "lon": [float(n) for n in range(10)], "lat": [0.0] * 10})
    rows = [(a, b, 5 if a == "a" and b in "cegi" else 40) for a in ids for b in ids]
    counted = pa.table(dict(zip(("origin", "destination", "count"), zip(*rows, strict=True), strict=True)))
    made = fv.anonymize(fv.build_flows(counted, zones=table, hierarchy="ward"), "suppression", k=10, elsewhere=True)
    assert names(made)["elsewhere"] == "Elsewhere"
    folder = made.write(tmp_path / "out")
    fv.verify(folder, counted, zones=table)
    spoil(folder, lambda rows: next(row for row in rows if row["area"] == "elsewhere").update(name="x"))
    with pytest.raises(fv.VerificationError, match="elsewhere has another name"):
        fv.verify(folder, counted, zones=table)


def test_names_of_other_zones_are_refused(tmp_path: Path) -> None:
    """Verified with a zones file in which names changed, a release does not hold."""
    folder = release(zones(name=["A"] * ZONES)).write(tmp_path / "out")
    with pytest.raises(fv.VerificationError, match="name of the area"):
        fv.verify(folder, trips(), zones=zones(name=["B"] * ZONES))
    with pytest.raises(fv.VerificationError, match="no column 'name'"):
        fv.verify(folder, trips(), zones=zones())


def test_an_older_release_without_names_verifies(tmp_path: Path) -> None:
    """Folders of earlier versions have no names, and say of no column that it names zones."""
    table = zones(name=["A"] * ZONES)
    folder = release(table).write(tmp_path / "out")
    (tmp_path / "out.audit.json").unlink()  # which has hashes of the files as they are now
    path = folder / "areas.parquet"
    geo = {"geo": pq.read_metadata(path).metadata[b"geo"].decode()}
    _write_table(pq.read_table(path).drop_columns(["name"]).replace_schema_metadata(geo), path)
    with pytest.raises(fv.VerificationError, match="have no names"):
        fv.verify(folder, trips(), zones=table)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["options"]["zone_name"]
    (folder / "manifest.json").write_text(_json(manifest), encoding="utf-8")
    fv.verify(folder, trips(), zones=table)
    exported = fv.export(folder, "flowmap-blue", tmp_path / "export")
    assert "ward:" in (exported.path / "locations.csv").read_text()


def test_names_reach_every_export(tmp_path: Path) -> None:
    """GeoJSON, GeoPackage, flowmap.blue, scikit-mobility and Open Matrix carry the names."""
    folder = release(zones(name=[f"Quarter {n}" for n in range(ZONES)])).write(tmp_path / "out")
    files = {"geojson": "areas.geojson", "flowmap-blue": "locations.csv", "skmob": "tessellation.geojson"}
    for form, file in files.items():
        written = fv.export(folder, form, tmp_path / form).path
        assert "Quarter 5" in (written / file).read_text()
    for form in ("gpkg", "omx"):
        assert b"Quarter 5" in fv.export(folder, form, tmp_path / f"out.{form}").path.read_bytes()


def test_noise_on_zones_has_checked_names(tmp_path: Path) -> None:
    """A release with noise names its areas by the same rule, and its verifier derives them, too."""
    pytest.importorskip("opendp")
    table = zones(name=[f"Quarter {n}" for n in range(ZONES)])
    noisy = fv.add_noise(trips(), "laplace", 50.0, zones=table)
    assert set(noisy.areas["name"].to_pylist()) == {f"Quarter {n}" for n in range(ZONES)}
    folder = noisy.write(tmp_path / "out")
    fv.verify(folder, zones=table)
    spoil(folder, lambda rows: rows[0].update(name="planted"))
    with pytest.raises(fv.VerificationError, match="name of the area"):
        fv.verify(folder, zones=table)


@pytest.mark.slow
def test_names_go_with_time_and_groups(tmp_path: Path) -> None:
    """The manifest has its options in one order, whatever else was asked for."""
    table = zones(name=[f"Quarter {n}" for n in range(ZONES)])
    count = trips().num_rows
    more = trips().append_column("start_time", pa.array(["2024-01-15 06:30:00"] * count))
    flows = fv.build_flows(more, zones=table, time="hour-of-day")
    fv.verify(fv.anonymize(flows, k=10, max_suppression=0.2).write(tmp_path / "out"), more, zones=table)
