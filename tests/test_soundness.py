"""Release folders that somebody changed: every reader refuses them with a hint, and in the same words."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run

TRIPS = pa.table({"origin": ["a", "a", "b", "b"] * 6, "destination": ["a", "b", "a", "b"] * 6})
ZONES = pa.table({"zone_id": ["a", "b"], "lon": [4.4, 4.5], "lat": [50.3, 50.4]})


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a small release of flows between zones, and its trips."""
    room = tmp_path_factory.mktemp("sound")
    pq.write_table(TRIPS, room / "trips.parquet")
    pq.write_table(ZONES, room / "zones.parquet")
    flows = fv.build_flows(room / "trips.parquet", zones=room / "zones.parquet", hierarchy="ward")
    return fv.anonymize(flows, "suppression", k=3).write(room / "out")


@pytest.fixture
def folder(written, tmp_path):
    """Return a copy of the release, to be changed."""
    for path in written.parent.iterdir():
        shutil.copytree(path, tmp_path / path.name) if path.is_dir() else shutil.copy(path, tmp_path / path.name)
    return tmp_path / "out"


def put(folder, file, column, row, value, form=None):
    """Put a value into a table of a release."""
    table = pq.read_table(folder / file)
    place, values = table.schema.get_field_index(column), table[column].to_pylist()
    values[row] = value
    changed = table.set_column(place, column, pa.array(values, form or table.schema.field(column).type))
    pq.write_table(changed, folder / file, store_schema=False)


def say(folder, *keys, value):
    """Put a value into the manifest of a release; ... takes a key away."""
    manifest = json.loads((folder / "manifest.json").read_text())
    holder = manifest
    for key in keys[:-1]:
        holder = holder[key]
    if value is ...:
        del holder[keys[-1]]
    else:
        holder[keys[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))


READERS = {
    "read": lambda folder, _: fv.read_release(folder),
    "evaluate": fv.evaluate,
    "questions": lambda folder, trips: fv.evaluate(folder, trips, questions=True),
    "report": lambda folder, _: fv.report(folder),
    "private report": fv.report,
    "sample": lambda folder, _: fv.sample(folder, 10),
    "reconstruct": lambda folder, _: fv.reconstruct(folder, ZONES),
    "export": lambda folder, _: fv.export(folder, "csv", folder.parent / "exported"),
    "risk": lambda folder, _: fv.risk(folder),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses(folder, reader):
    """An id that is in one table only is told by each of them as what it is."""
    put(folder, "flows.parquet", "origin", 0, "c")

    with pytest.raises(fv.InputError, match=r"the areas of areas.parquet are not those of flows.parquet") as error:
        READERS[reader](folder, folder.parent / "trips.parquet")
    assert "verify" in error.value.hint


CHANGES = {
    "nothing in the place of a number": lambda folder: put(folder, "flows.parquet", "trips", 0, None),
    "no trips": lambda folder: put(folder, "flows.parquet", "trips", 0, 0),
    "more trips than sums hold": lambda folder: put(folder, "flows.parquet", "trips", 0, 2**62 + 1),
    "trips that are no whole numbers": lambda folder: put(folder, "flows.parquet", "trips", 0, 5, pa.float64()),
    "a center off the globe": lambda folder: put(folder, "areas.parquet", "lon", 0, 361.0),
    "a center that is no number": lambda folder: put(folder, "areas.parquet", "lat", 0, np.nan),
    "an area of no side": lambda folder: put(folder, "areas.parquet", "side", 0, "both"),
    "an area twice": lambda folder: put(folder, "areas.parquet", "area", 1, "a"),
    "a member that is none": lambda folder: put(folder, "areas.parquet", "members", 0, [None]),
    "an outline that is none": lambda folder: put(folder, "areas.parquet", "geometry", 0, b"no outline"),
    "a column less": lambda folder: pq.write_table(
        pq.read_table(folder / "areas.parquet").drop_columns(["lat"]), folder / "areas.parquet"
    ),
    "a column more": lambda folder: say(folder, "promise", "weight", value="weight"),
    "steps that are not there": lambda folder: say(folder, "options", "time", value="1h"),
    "no promise": lambda folder: say(folder, "promise", "k", value=...),
    "no text of the promise": lambda folder: say(folder, "promise_text", value=...),
    "a crowd of none": lambda folder: say(folder, "promise", "k", value=0),
    "yes in the place of a number": lambda folder: say(folder, "promise", "k", value=True),
    "a promise that is text": lambda folder: say(folder, "promise", value="k"),
    "an infinite number": lambda folder: say(folder, "promise", "max_share", value=float("inf")),
    "a box that is none": lambda folder: say(folder, "options", "bbox", value=[1, 2, 3]),
    "a clock that is none": lambda folder: say(folder, "options", "timezone", value="nowhere"),
    "groups that are no list": lambda folder: say(folder, "options", "by", value={"a": 1}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_refused(folder, change):
    """Whatever of the manifest and the tables is not as the format says."""
    CHANGES[change](folder)

    with pytest.raises(fv.InputError, match=r"not as the format says|lacks columns"):
        fv.read_release(folder)


def test_the_command_says_so(folder, capsys):
    """On the command line it is an error with a hint, and exit code 2."""
    put(folder, "flows.parquet", "trips", 0, None)

    assert run(["report", str(folder)]) == 2
    assert (
        "error: the release is not as the format says: 'trips' of flows.parquet has a null" in capsys.readouterr().err
    )
