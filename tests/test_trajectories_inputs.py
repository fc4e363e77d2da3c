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


@pytest.mark.slow
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


def write_each(rows, folder, ending, line, first=""):
    """Write a file for each user: a first line, and what `line` makes of each row."""
    folder.mkdir()
    for user in set(rows["user_id"]):
        own = zip(*(rows[key] for key in ("user_id", "lon", "lat", "time")), strict=True)
        lines = [line(*row) for row in own if row[0] == user]
        (folder / f"{user}{ending}").write_text(first + "".join(lines), encoding="utf-8")


def test_a_file_a_user(rows, tmp_path):
    """Users of CSV files without a column of users are called as their files, if that is asked for, and verified."""
    write_each(rows, tmp_path / "dump", ".csv", lambda _, lon, lat, time: f"{time},{lat!r},{lon!r}\n", "time,lat,lon\n")
    out, dump = str(tmp_path / "out"), str(tmp_path / "dump")

    assert run(["trajectories", "anonymize", dump, BOX, "-k", "2", "-o", out, "--columns", "user=filename"]) == 0
    assert run(["trajectories", "verify", out, "--against", dump]) == 0

    assert pq.read_table(tmp_path / "out" / "trajectories.parquet").equals(release_of(pa.table(rows)))
    assert set(pq.read_table(out + ".members.parquet")["user_id"].to_pylist()) == set(rows["user_id"])
    with pytest.raises(InputError, match="user=filename"):
        trajectories.read_trajectories(dump, PHONES_BBOX)


def test_two_files_of_one_name(rows, tmp_path):
    """Users who cannot be told apart by the names of their files are refused, and so is a table, which has no files."""
    (tmp_path / "dump").mkdir()
    for day in ("monday", "tuesday"):
        write_each(rows, tmp_path / "dump" / day, ".csv", lambda _, lon, lat, time: f"{time},{lat},{lon}\n", "t,y,x\n")

    for source, words in ((tmp_path / "dump", "same name"), (pa.table(rows), "no folder")):
        with pytest.raises(InputError, match=words):
            trajectories.read_trajectories(source, PHONES_BBOX, columns="user=filename")


def test_files_without_names_of_columns(rows, tmp_path):
    """Files as T-Drive has them are read; others without a first line of names are refused without showing a value."""
    write_each(
        rows, tmp_path / "cabs", ".txt", lambda user, lon, lat, t: f"{user},{t:%Y-%m-%d %H:%M:%S},{lon!r},{lat!r}\n"
    )
    write_each(rows, tmp_path / "bare", ".csv", lambda user, lon, lat, t: f"{user},{t:%Y-%m-%d %H:%M},{lon},{lat}\n")

    assert release_of(tmp_path / "cabs").equals(release_of(pa.table(rows)))
    with pytest.raises(InputError, match="holds values, not names") as refused:
        trajectories.read_trajectories(tmp_path / "bare", PHONES_BBOX)
    assert "u0000" not in str(refused.value)


@pytest.mark.slow
def test_as_others_write_it(rows, tmp_path, capsys):
    """Times, decimals and an encoding of a country are read as told, and found in the audit file by all who check."""
    records, out = tmp_path / "points.csv", str(tmp_path / "out")
    lines = [
        f"{user}\u00e9;{str(lon).replace('.', ',')};{str(lat).replace('.', ',')};{time:%d/%m/%Y %H:%M:%S}\n"
        for user, lon, lat, time in zip(*(rows[key] for key in ("user_id", "lon", "lat", "time")), strict=True)
    ]
    records.write_text("".join(["user_id;lon;lat;time\n", *lines]), encoding="cp1252")
    written = ["--time-format", "%d/%m/%Y %H:%M:%S", "--decimal", ",", "--encoding", "cp1252"]

    assert run(["trajectories", "anonymize", str(records), BOX, "-k", "2", "-o", out, *written]) == 0
    assert run(["trajectories", "verify", out, "--against", str(records)]) == 0
    assert run(["risk", out, "--against", str(records), "--attacks", "support"]) == 0

    assert pq.read_table(tmp_path / "out" / "trajectories.parquet").equals(release_of(pa.table(rows)))
    assert trajectories.evaluate(out, records).counts["released_users"] == 6
    capsys.readouterr()


def test_what_is_read_already_is_not_read_otherwise(rows):
    """Options of reading are refused where they would be ignored."""
    data = trajectories.read_trajectories(pa.table(rows), PHONES_BBOX)

    for name, value in {"step": "1km,30min", "bbox": PHONES_BBOX, "min_samples": 2, "where": "lon > 0"}.items():
        with pytest.raises(InputError, match=f"{name} was given"):
            trajectories.anonymize(data, 2, **{name: value})


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
