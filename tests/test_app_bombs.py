"""Small files that unfold to more than there is room for: refused by their headers, or while they are unpacked."""

from __future__ import annotations

import gzip

import openmatrix
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import tables
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._app import checks
from flowveil._app.arrow_sizes import unfolded
from flowveil._engine import open_matrix
from flowveil._places import read_zones

LIMIT = 3_000_000  # bytes, in place of gigabytes
LARGE = 4_000_000


@pytest.fixture
def low(monkeypatch):
    """Lower the limits."""
    monkeypatch.setattr(checks, "MOST_BYTES", {"trips": LIMIT, "zones": LIMIT})
    monkeypatch.setattr(checks, "MOST_IN_MEMORY", LIMIT)


def zeros(bytes_count):
    """Return a column that is nearly nothing once it is compressed."""
    return pa.table({"lon": pa.array([0.0], pa.float64()).take([0] * (bytes_count // 8))})


def write_zstd(path, content):
    """Write compressed text."""
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(content)


BOMBS = {
    "zstd.arrow": lambda path: pyarrow.feather.write_feather(zeros(LARGE), path, compression="zstd"),
    "lz4.feather": lambda path: pyarrow.feather.write_feather(zeros(LARGE), path, compression="lz4"),
    "zones.parquet": lambda path: pq.write_table(pa.table({"id": ["x" * 1_000] * (LARGE // 1_000)}), path),
    "trips.csv.gz": lambda path: path.write_bytes(gzip.compress(b"lon,lat\n" + b"0,0\n" * (LARGE // 4))),
    "trips.csv.zst": lambda path: write_zstd(path, b"lon,lat\n" + b"0,0\n" * (LARGE // 4)),
}


@pytest.mark.usefixtures("low")
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_that_unfolds(name, tmp_path):
    """A few kilobytes that become megabytes are refused, with their size; under the limit they are not."""
    path, kind = tmp_path / name, "zones" if name.startswith("zones") else "trips"
    BOMBS[name](path)
    assert path.stat().st_size < 40_000

    with pytest.raises(fv.InputError, match="unfolds to"):
        checks.refuse_bombs(str(path), kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "MOST_BYTES", dict.fromkeys(("trips", "zones"), 2 * LARGE))
        patch.setattr(checks, "MOST_IN_MEMORY", 2 * LARGE)
        checks.refuse_bombs(str(path), kind)


def write_arrow(path, arrays, times=1, **options):
    """Write batches of columns."""
    table = pa.table(arrays)
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for _ in range(times):
            writer.write_table(table)


@pytest.mark.parametrize(
    "column",
    [
        pa.nulls(1_500_000_000),  # of no bytes
        pa.RunEndEncodedArray.from_arrays(pa.array([1_500_000_000], pa.int64()), pa.array([1.0])),
    ],
    ids=["nulls", "run ends"],
)
def test_rows_of_nothing(column, tmp_path):
    """Columns that take no room may claim any number of rows."""
    write_arrow(tmp_path / "rows.arrow", {"lon": column}, times=2)

    with pytest.raises(fv.InputError, match="3,000,000,000 rows"):
        checks.refuse_bombs(str(tmp_path / "rows.arrow"), "trips")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=4),
    st.sampled_from([None, "zstd", "lz4"]),
    st.booleans(),
    st.booleans(),
)
def test_sizes_are_those_of_the_buffers(tmp_path_factory, rows, compression, categories, gaps):
    """Rows and bytes that headers tell are those of the batches once they are read, up to padding."""
    path = tmp_path_factory.mktemp("sizes") / "some.arrow"
    schema = pa.schema(
        {"x": pa.float64(), "name": pa.dictionary(pa.int32(), pa.string()) if categories else pa.string()}
    )
    with pa.ipc.new_file(path, schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for count in rows:
            values = [None if gaps and number % 3 == 0 else f"place {number % 2}" for number in range(count)]
            places = pa.array([value and int(value[-1]) for value in values], pa.int32())
            both = pa.DictionaryArray.from_arrays(places, pa.array(["place 0", "place 1"]))
            names = both if categories else pa.array(values, pa.string())
            writer.write_batch(pa.record_batch([pa.array([0.5] * count, pa.float64()), names], schema=schema))

    claimed = unfolded(path)

    table = pa.ipc.open_file(path).read_all()
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    size = sum(buffer.size for chunk in chunks for buffer in chunk.buffers() if buffer)
    assert claimed.rows == sum(rows)
    assert abs(claimed.bytes - size) <= 64 * 8 * (len(rows) + 1)


@pytest.mark.parametrize("cut", [8, 40, 200])
def test_broken_headers(cut, tmp_path):
    """A file that is cut off, or whose footer is noise, is bad input, not a crash."""
    path = tmp_path / "whole.arrow"
    write_arrow(path, {"lon": pa.array([0.0] * 100)})
    data = path.read_bytes()
    (tmp_path / "cut.arrow").write_bytes(data[:-cut])
    (tmp_path / "noise.arrow").write_bytes(data[:-cut] + b"\xff" * (cut - 6) + b"ARROW1")

    for name in ("cut.arrow", "noise.arrow"):
        with pytest.raises(fv.InputError, match="cannot be read"):
            checks.refuse_bombs(str(tmp_path / name), "trips")


def write_matrix(path, shape, cells):
    """Write an Open Matrix file of nothing but zeros and a few cells."""
    with openmatrix.open_file(str(path), "w") as file:
        whole = tables.Filters(complevel=1)
        made = file.create_carray("/data", "trips", atom=tables.Float64Atom(), shape=shape, filters=whole)
        for (row, column), value in cells.items():
            made[row, column] = value


@pytest.mark.slow
def test_a_matrix_of_nothing(tmp_path):
    """A few kilobytes of Open Matrix that claim terabytes of zeros are refused."""
    write_matrix(tmp_path / "m.omx", (1_000_000, 1_000_000), {})
    assert (tmp_path / "m.omx").stat().st_size < 100_000

    with pytest.raises(fv.InputError, match="1,000,000 x 1,000,000 cells"):
        fv.read_trips(tmp_path / "m.omx")


def test_a_matrix_in_parts(tmp_path, monkeypatch):
    """However many cells are looked at at a time, all that are not zero are read."""
    cells = {(row, column): 1.0 + row for row in (0, 3, 12) for column in (0, 7, 8)}
    write_matrix(tmp_path / "m.omx", (13, 9), cells)

    for at_a_time in (1, 20, 1_000):
        monkeypatch.setattr(open_matrix, "_CELLS_AT_A_TIME", at_a_time)
        with openmatrix.open_file(str(tmp_path / "m.omx")) as file:
            rows = open_matrix._cells(file["trips"], file, "trips").to_pylist()
        found = {(int(row["origin"]) - 1, int(row["destination"]) - 1): row["value"] for row in rows}
        assert found == cells
        assert len(rows) == len(cells)


def test_an_id_that_fills_pages(tmp_path):
    """Zones whose ids are a megabyte long are told apart from what fits into a message."""
    pq.write_table(pa.table({"zone_id": ["x" * 1_000_000] * 3}), tmp_path / "zones.parquet")

    with pytest.raises(fv.InputError, match="occurs twice") as caught:
        read_zones(tmp_path / "zones.parquet")

    assert len(caught.value.message) < 200
