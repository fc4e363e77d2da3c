"""What trajectories are made of: numbers as times, a file a vehicle, towers in place of coordinates."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowveil import InputError, trajectories
from flowveil._cli.commands import run
from flowveil.synthetic import PHONES_BBOX, phones

BOX = "--bbox=" + ",".join(map(str, PHONES_BBOX))


@pytest.fixture(scope="module")
def rows():
    """Return samples of 6 users, as lists."""
    return phones(6, samples=20).to_pydict()


def release_of(source, **options):
    """Return what is published of a source."""
    return trajectories.anonymize(source, 2, bbox=PHONES_BBOX, **options).trajectories


@pytest.mark.parametrize(
    ("factor", "kind"), [(1, pa.int64()), (1_000, pa.int64()), (1_000_000, pa.int64()), (1, pa.float64())]
)
def test_times_since_1970(rows, factor, kind):
    """Seconds, milliseconds and microseconds are the same moments as timestamps."""
    expected = release_of(pa.table(rows))
    numbers = [moment.timestamp() * factor for moment in rows["time"]]
    times = pa.array([round(number) for number in numbers]).cast(kind)

    actual = release_of(pa.table(rows | {"time": times}))

    assert expected.equals(actual)


def test_a_file_a_vehicle(rows, tmp_path, capsys):
    """A folder of cab files gives the release of the same rows in one table, from the command line, and verifies."""
    folder = tmp_path / "cabs"
    folder.mkdir()
    for user in set(rows["user_id"]):
        lines = [
            f"{lat:.5f} {lon:.5f} 0 {round(time.timestamp())}\n"
            for name, lon, lat, time in zip(*(rows[key] for key in ("user_id", "lon", "lat", "time")), strict=True)
            if name == user
        ]
        (folder / f"new_{user}.txt").write_text("".join(lines), encoding="utf-8")
    rounded = rows | {name: [float(f"{value:.5f}") for value in rows[name]] for name in ("lon", "lat")}
    expected = release_of(pa.table(rounded | {"user_id": [f"new_{user}" for user in rows["user_id"]]}))

    assert run(["trajectories", "anonymize", str(folder), BOX, "-k", "2", "-o", str(tmp_path / "out")]) == 0
    assert run(["trajectories", "verify", str(tmp_path / "out"), "--against", str(folder)]) == 0

    assert pq.read_table(tmp_path / "out" / "trajectories.parquet").equals(expected)
    assert "verified" in capsys.readouterr().out


@pytest.mark.slow
def test_towers(rows, tmp_path):
    """Records that name towers are published like those with coordinates; verify and evaluate find the towers again."""
    places = sorted({(lon, lat) for lon, lat in zip(rows["lon"], rows["lat"], strict=True)})
    names = {place: f"T{number:03d}" for number, place in enumerate(places)}
    towers, records = tmp_path / "towers.csv", tmp_path / "cdr.parquet"
    towers.write_text(
        "tower_id,lon,lat\n" + "".join(f"{name},{lon!r},{lat!r}\n" for (lon, lat), name in names.items()),
        encoding="utf-8",
    )
    named = [names[place] for place in zip(rows["lon"], rows["lat"], strict=True)]
    unknown = {"user_id": ["u000000"], "tower": ["T999"], "time": rows["time"][:1]}
    table = {"user_id": rows["user_id"], "tower": named, "time": rows["time"]}
    pq.write_table(pa.table({name: table[name] + unknown[name] for name in table}), records)
    expected = release_of(pa.table(rows))
    common = [str(records), "--towers", str(towers), BOX]

    assert run(["trajectories", "anonymize", *common, "-k", "2", "-o", str(tmp_path / "out")]) == 0
    assert run(["trajectories", "verify", str(tmp_path / "out"), "--against", str(records)]) == 0
    assert run(["trajectories", "gap", *common, "-k", "2", "--no-generalize", "--json"]) == 0

    audit = json.loads((tmp_path / "out.audit.json").read_text(encoding="utf-8"))
    assert audit["dropped"] == {"unknown tower": 1}
    assert "towers" not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")
    assert pq.read_table(tmp_path / "out" / "trajectories.parquet").equals(expected)
    assert trajectories.evaluate(tmp_path / "out", records).counts["suppressed"] == 0
    with pytest.raises(InputError, match="no column for lon, lat"):
        trajectories.read_trajectories(records, PHONES_BBOX)
