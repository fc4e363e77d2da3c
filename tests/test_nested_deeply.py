"""Files of others that are nested without end are bad input for every reader: no traceback, no crash."""

from __future__ import annotations

import json
import shutil
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from flowveil._cli.commands import run
from flowveil._folder import shapes_from_wkb
from flowveil.synthetic import CITY_BBOX, phones
from tests.test_bad_input import BOX, TRIPS, ZONE_TRIPS, ZONES, check_failure, geojson, put, with_zones

DEPTHS = (900, 5_000, 100_000)
POINT = struct.pack("<BIdd", 1, 1, 4.5, 50.3)
SQUARE = json.loads(shapely.to_geojson(shapely.box(4.4, 50.2, 4.9, 50.6)))


def brackets(depth):
    """Return a JSON text of brackets in brackets."""
    return "[" * depth + "]" * depth


def collections(depth, kind=7, order="<"):
    """Return WKB of a point in a collection in a collection, and so on."""
    return struct.pack(f"{order}BII", order == "<", kind, 1) * depth + POINT


def with_geometry(geometry):
    """Return GeoJSON of two zones, one of them with this geometry as text."""
    document = geojson([{"properties": {"id": "01"}, "geometry": "HERE"}, {"properties": {"id": "02"}}])
    return document.replace('"HERE"', geometry)


# name: the zones as text or table, by depth, and the ending of their file
ZONE_FILES = {
    "the whole": (brackets, "geojson"),
    "coordinates": (lambda n: with_geometry(f'{{"type": "Polygon", "coordinates": {brackets(n)}}}'), "geojson"),
    "collections": (
        lambda n: with_geometry(
            '{"type": "GeometryCollection", "geometries": [' * n + '{"type": "Point", "coordinates": [1, 1]}' + "]}" * n
        ),
        "geojson",
    ),
    "properties": (lambda n: geojson([{"properties": {"id": 0}}]).replace("0", brackets(n)), "geojson"),
    "the CRS": (lambda n: f'{{"features": [], "crs": {brackets(n)}}}', "geojson"),
    "metadata": (lambda n: ZONES.replace_schema_metadata({"geo": brackets(n)}), "parquet"),
    "WKB": (lambda n: ZONES.append_column("geometry", pa.array([collections(n), None])), "parquet"),
    "WKT": (
        lambda n: ZONES.append_column("geometry", pa.array([f"{'GEOMETRYCOLLECTION(' * n}POINT(1 1){')' * n}", None])),
        "parquet",
    ),
    "WKT in CSV": (
        lambda n: f"zone_id,geometry\n01,{'GEOMETRYCOLLECTION(' * n}POINT(1 1){')' * n}\n02,\n",
        "csv",
    ),
}


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", ZONE_FILES)
def test_zones(name, depth, tmp_path, capsys):
    """Zones of every format."""
    make, ending = ZONE_FILES[name]
    words = with_zones(tmp_path, make(depth), ZONE_TRIPS, f"zones.{ending}")

    code = run(["anonymize", *words, "-o", str(tmp_path / "out")])

    check_failure(capsys, code, "")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a release of each kind and what they were made from."""
    folder = tmp_path_factory.mktemp("nested")
    flows = ["anonymize", put(folder, "trips.parquet", TRIPS), "--grid", "h3:8"]
    assert run([*flows, "-o", str(folder / "flows")]) == 0
    noisy = ["anonymize", str(folder / "trips.parquet"), BOX, "--epsilon", "1", "--grid", "h3:5"]
    assert run([*noisy, "-o", str(folder / "noisy")]) == 0
    box = "--bbox=" + ",".join(map(str, CITY_BBOX))
    paths = ["trajectories", "anonymize", put(folder, "samples.parquet", phones(10, samples=10)), "-k", "2", box]
    assert run([*paths, "-o", str(folder / "paths")]) == 0
    put(folder, "zones.geojson", geojson([{"properties": {"id": "1"}, "geometry": SQUARE}]))
    return folder


class TestReleases:
    """Releases that come from somebody else."""

    COMMANDS = (
        "verify flows --against trips.parquet",
        "evaluate flows --against trips.parquet",
        "report flows",
        "report flows --json",
        "report flows --against trips.parquet",
        "export flows --to geojson -o new",
        "reconstruct flows --zones zones.geojson",
        "anonymize trips.parquet --grid h3:8 -o new --areas-from flows",
        "anonymize trips.parquet --grid h3:8 -o new --beside flows",
        "anonymize trips.parquet --grid h3:8 -o flows --overwrite",
        "verify noisy",
        "query noisy",
        "query noisy --against trips.parquet",
        "report noisy",
        "export noisy --to skmob -o new",
        "trajectories verify paths --against samples.parquet",
        "trajectories evaluate paths --against samples.parquet",
        "report paths",
    )

    def fail(self, command, made, folder, capsys, spoil):
        """Run a command on spoiled copies of the releases."""
        for item in made.iterdir():
            shutil.copytree(item, folder / item.name) if item.is_dir() else shutil.copy(item, folder / item.name)
        for release in ("flows", "noisy", "paths"):
            spoil(folder, release)
        before = sorted(path.name for path in folder.iterdir())
        capsys.readouterr()

        code = run([str(folder / word) if word in {"new", *before} else word for word in command.split()])

        out, err = capsys.readouterr()
        assert code in {1, 2}, err
        assert out == ""
        assert [line.split(": ")[0] for line in err.splitlines()[-2:]] == ["error", "hint"]
        assert "bug" not in err
        assert sorted(path.name for path in folder.iterdir()) == before

    @pytest.mark.parametrize("whole", [True, False])
    @pytest.mark.parametrize("depth", [950, 100_000])
    @pytest.mark.parametrize("command", COMMANDS)
    def test_manifest(self, command, depth, whole, made, tmp_path, capsys):
        """A manifest, as a whole or in one of its values."""
        if "--overwrite" in command:
            depth = 100_000  # what can be read is a release, and is overwritten

        def spoil(folder, release):
            manifest = json.loads((folder / release / "manifest.json").read_text())
            text = json.dumps(manifest | {"options": "HERE"}).replace('"HERE"', brackets(depth))
            (folder / release / "manifest.json").write_text(brackets(depth) if whole else text)

        self.fail(command, made, tmp_path, capsys, spoil)

    @pytest.mark.parametrize("depth", [950, 100_000])
    @pytest.mark.parametrize(
        "command",
        [
            "verify flows --against trips.parquet",
            "evaluate flows --against trips.parquet",
            "report flows --against trips.parquet",
            "query noisy --against trips.parquet",
            "trajectories evaluate paths --against samples.parquet",
        ],
    )
    def test_audit(self, command, depth, made, tmp_path, capsys):
        """The private file beside a release."""

        def spoil(folder, release):
            (folder / f"{release}.audit.json").write_text(f'{{"input": {{"columns": {brackets(depth)}}}}}')

        self.fail(command, made, tmp_path, capsys, spoil)

    @pytest.mark.parametrize(
        "command", [text for text in COMMANDS if "paths" not in text and "--overwrite" not in text]
    )
    def test_outlines(self, command, made, tmp_path, capsys):
        """Outlines of areas, in which GEOS would lose itself."""

        def spoil(folder, release):
            if (path := folder / release / "areas.parquet").exists():
                areas = pq.read_table(path)
                bad = pa.array([collections(60_000)] * len(areas), pa.binary())
                place = areas.column_names.index("geometry")
                pq.write_table(areas.set_column(place, areas.schema.field("geometry"), bad), path)

        self.fail(command, made, tmp_path, capsys, spoil)


class TestShapes:
    """What the reader of WKB makes of true shapes and of others."""

    @pytest.mark.parametrize("order", [0, 1])
    @pytest.mark.parametrize("flavor", ["extended", "iso"])
    @pytest.mark.parametrize("dimension", [2, 3, 4])
    def test_true_shapes(self, order, flavor, dimension):
        """Shapes of every kind are read as shapely reads them."""
        ring = shapely.get_coordinates(shapely.Point(4, 50).buffer(1, quad_segs=30))
        polygon = shapely.Polygon(ring, [ring * 0.5 + [2, 25]])
        several = shapely.MultiPolygon([polygon, shapely.box(10, 10, 11, 11)])
        line = shapely.LineString(ring)
        every = shapely.GeometryCollection([polygon, several, line, shapely.MultiPoint(ring), shapely.Point(1, 2)])
        for shape in (polygon, several, line, every, shapely.force_3d(every, 7), shapely.set_srid(every, 4326)):
            named = {"include_srid": flavor == "extended"}
            text = shapely.to_wkb(shape, output_dimension=dimension, byte_order=order, flavor=flavor, **named)

            found = shapes_from_wkb([None, text])

            assert found[0] is None
            assert shapely.equals_identical(found[1], shapely.from_wkb(text))

    @pytest.mark.parametrize("kind", [4, 5, 6, 7, 9, 12, 15, 1007, 3006, 7 | 0x80000000])
    @pytest.mark.parametrize("order", ["<", ">"])
    def test_nested(self, kind, order):
        """Whatever has parts can be nested, in either order of bytes; also behind a part that is not."""
        deep = collections(60_000, kind, order)
        for text in (deep, struct.pack("<BII", 1, 7, 2) + POINT + deep):
            with pytest.raises(ValueError, match="nested too deeply"):
                shapes_from_wkb([text])

    @pytest.mark.parametrize("text", [b"", b"\x01", b"\x02" * 400, b"\xff" * 400, b"\x00" * 400, "0" * 900, 7])
    def test_no_shapes(self, text):
        """Anything else is refused."""
        with pytest.raises(ValueError, match="not WKB"):
            shapes_from_wkb([text])
