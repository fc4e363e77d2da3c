"""What fuzzing found, a test each, and a few seconds of it: `make fuzz` goes on for as long as one likes."""

from __future__ import annotations

import contextlib
import gzip
import json
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from reliability.fuzz import main
from reliability.fuzzing.readers import CORPUS
from reliability.fuzzing.recount import recount
from reliability.fuzzing.target import Broken
from reliability.fuzzing.texts import parsers

import flowveil as fv
from flowveil._cli.commands import run
from flowveil.synthetic import CITY_BBOX, City
from tests.test_bad_input import TRIPS, ZONE_TRIPS, ZONES, csv


@pytest.mark.slow
def test_a_small_run(tmp_path, monkeypatch, capsys):
    """All that is fed to options is taken or refused, and the next run goes on where this one ended."""
    command = ["fuzz", "options", "--minutes", "0", "--batch", "500", "--state", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)

    for times in (1, 2):
        main()

        told = json.loads((tmp_path / "state.json").read_text())["options"]
        assert told["taken"] + told["refused"] == 500 * times == told["next"]
        assert told["what"] == {}
    assert "| options | 1,000 |" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["crs", "input_crs", "encoding", "time_format", "layout", "parse_steps", "grid"])
def test_options_that_are_no_text(name):
    """Bytes of a shell that are no letters are refused as any other wrong value."""
    with pytest.raises(fv.InputError):
        parsers()[name]("EPSG:\udcff%")


def refused(path, **options):
    """Return the error that comes of reading a file."""
    with pytest.raises(fv.InputError) as error:
        fv.build_flows(fv.read_trips(path), **options)
    return error.value


class TestDamagedFiles:
    """Files that end libraries, or make them raise what nobody expects."""

    @pytest.mark.parametrize("name", ["trips.csv.gz", "trips.csv.zst"])
    def test_packed(self, name, tmp_path, capsys):
        """A packed file that is cut, or is none, is called damaged, and not a matter of paths and rights."""
        path = tmp_path / name
        path.write_bytes(gzip.compress(csv(TRIPS).encode())[:-20])

        assert "cannot be read" in refused(path).message
        assert run(["describe", str(path)]) == 2
        assert "rights" not in capsys.readouterr().err

    def test_zip_with_a_member_before_its_beginning(self, tmp_path):
        """A zip file whose list points nowhere is refused."""
        path = tmp_path / "trips.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("trips.csv", csv(TRIPS))
        content = path.read_bytes()
        place = content.rindex(b"PK\x01\x02") + 42  # where the member begins
        path.write_bytes(content[:place] + b"\xff\xff\xff\x7f" + content[place + 4 :])

        assert "cannot be read" in refused(path).message

    def test_zip_of_no_map(self, tmp_path):
        """A file of zones that calls itself a zip file and is none is refused."""
        (tmp_path / "zones.zip").write_bytes(b"PK\x03\x04 nothing")

        with pytest.raises(fv.InputError, match="cannot be read"):
            fv.build_flows(ZONE_TRIPS, zones=tmp_path / "zones.zip")

    def test_arrow_with_wrong_offsets(self, tmp_path):
        """An Arrow file is mapped as it is: texts that end beyond its end would end the process."""
        path = tmp_path / "trips.arrow"
        feather.write_feather(pa.table({"origin": ["a", "b"], "destination": ["b", "a"]}), path, "uncompressed")
        content = path.read_bytes()
        offsets = np.array([0, 1, 2], np.int32).tobytes()
        assert offsets in content
        path.write_bytes(content.replace(offsets, np.array([0, 1, 2**30], np.int32).tobytes()))

        assert "Arrow" in refused(path, zones=ZONES).message

    @pytest.mark.slow
    def test_open_matrix_that_ends_the_library(self, tmp_path):
        """HDF5 crashes on some files, of which this is one; that ends a process of its own, and not this one."""
        pytest.importorskip("openmatrix")
        path = tmp_path / "trips.omx"
        path.write_bytes(gzip.decompress((CORPUS / "crash.omx.gz").read_bytes()))

        assert "Open Matrix" in refused(path).message


@pytest.mark.parametrize(
    "shape",
    [
        "CIRCULARSTRING (0 0, 1 1, 2 0)",
        "POLYGON ((4 50, 5 1e30850, 5 51, 4 50))",
        "POINT (nan 1)",
    ],
)
def test_shapes_that_shapely_warns_of(shape):
    """A curve is refused, and coordinates that are too large, or no numbers, are no matter for warnings."""
    zones = pa.table({"zone_id": ["01", "02"], "lon": [4.5, 4.7], "lat": [50.3, 50.4], "geometry": [shape, None]})

    for table in (zones, zones.drop_columns(["lon", "lat"])):
        with contextlib.suppress(fv.InputError):
            fv.build_flows(ZONE_TRIPS, zones=table)


def test_errors_hold_nothing_for_terminals(tmp_path, capsys):
    """What a stranger's file calls its columns is shown without what would move a cursor or hide text."""
    path = tmp_path / "trips.csv"
    path.write_text("a\x1b[2J,b\u202e\n1,2\n", encoding="utf-8")

    assert run(["anonymize", str(path), "-o", str(tmp_path / "out")]) == 2

    told = capsys.readouterr().err
    assert "a?[2J" in told
    assert all(letter.isprintable() or letter == "\n" for letter in told)


class TestRecount:
    """The recount that fuzzing holds every release against, in plain pandas."""

    HOW = {"zones": {"01", "02"}, "unit": "person_id", "k": 5}  # noqa: RUF012  read only

    @pytest.fixture
    def folder(self, tmp_path):
        """Write a release of two flows."""
        flows = fv.build_flows(ZONE_TRIPS, zones=ZONES, hierarchy="ward", unit="person_id")
        return fv.anonymize(flows, "suppression", k=5).write(tmp_path / "out")

    def test_a_true_release(self, folder):
        """What is true passes."""
        recount(folder, ZONE_TRIPS.to_pandas(), self.HOW)

    @pytest.mark.parametrize("column", ["trips", "persons"])
    @pytest.mark.parametrize("change", [-1, 1])
    def test_wrong_numbers(self, column, change, folder):
        """A number that is off by one is found."""
        table = pq.read_table(folder / "flows.parquet")
        numbers = table[column].to_numpy() + np.array([change, 0])
        pq.write_table(
            table.set_column(table.column_names.index(column), column, pa.array(numbers)), folder / "flows.parquet"
        )

        with pytest.raises(Broken, match=f"the {column} of a flow"):
            recount(folder, ZONE_TRIPS.to_pandas(), self.HOW)

    def test_a_crowd_that_is_too_small(self, folder):
        """A flow of fewer persons than k is found."""
        with pytest.raises(Broken, match="fewer than k"):
            recount(folder, ZONE_TRIPS.to_pandas(), self.HOW | {"k": 11})

    def test_trips_that_are_counted_twice(self, folder):
        """Two flows that have trips in common are found."""
        areas = pq.read_table(folder / "areas.parquet").to_pandas()
        areas["members"] = [["01", "02"]] * len(areas)
        areas.to_parquet(folder / "areas.parquet")

        with pytest.raises(Broken, match="counted in two flows"):
            recount(folder, ZONE_TRIPS.to_pandas(), self.HOW)

    @pytest.mark.slow
    def test_elsewhere_between_rectangles(self, tmp_path):
        """Where an assignment says which flow counts a trip, flows to elsewhere are counted by it, too."""
        how = {"grid": "quadtree:8000", "bbox": ",".join(map(str, CITY_BBOX)), "unit": "person_id", "k": 5}
        trips = City(seed=1, persons=30).trips(400)
        flows = fv.build_flows(trips, how["grid"], bbox=how["bbox"], hierarchy="lattice:1", unit="person_id")
        fv.anonymize(flows, "glove-od", k=5, max_suppression=0.3, elsewhere=True).write(tmp_path / "out")
        recount(tmp_path / "out", trips.to_pandas(), how)
        table = pq.read_table(tmp_path / "out" / "flows.parquet")
        ends, counts = (table[name].to_pylist() for name in ("destination", "trips"))
        assert "elsewhere" in ends
        more = [count + (end == "elsewhere") for count, end in zip(counts, ends, strict=True)]
        place = table.column_names.index("trips")
        pq.write_table(table.set_column(place, "trips", pa.array(more)), tmp_path / "out" / "flows.parquet")

        with pytest.raises(Broken, match="the trips of a flow are wrong"):
            recount(tmp_path / "out", trips.to_pandas(), how)
