"""Places against other teams' packages: h3, pyproj, scipy, shapely."""

from __future__ import annotations

import json

import h3.api.numpy_int as h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage, to_tree

from flowveil import InputError
from flowveil._options import parse_bbox
from flowveil._places import H3Grid, Hierarchy, Quadtree, Zones, choose_places, read_zones
from flowveil._places.geodesy import square_kilometers, to_meters
from flowveil._places.h3index import (
    cells_of_points,
    cells_of_points_reference,
    digits,
    is_pentagon,
    parents,
    resolutions,
)
from flowveil.synthetic import CITY_BBOX, City

RANDOM = np.random.default_rng(7)


def random_points(count):
    """Points all over the globe, poles and date line included."""
    lon, lat = RANDOM.uniform(-180, 180, count), RANDOM.uniform(-90, 90, count)
    lon[:4], lat[:4] = [180, -180, 0, 0], [0, 0, 90, -90]
    return lon, lat


def leaves_below(tree, node):
    """Return the tiles under a node, by walking down."""
    if tree.is_leaf[node]:
        return [node]
    children = range(tree.first_child[node], tree.end_child[node])
    return [leaf for child in children for leaf in leaves_below(tree, child)]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_hierarchy_arrays(data):
    """Level order, child ranges, tile counts and ancestors agree with the parents given."""
    size = data.draw(st.integers(1, 30))
    parent = np.array([-1] + [data.draw(st.integers(0, node - 1)) for node in range(1, size)])
    shuffle = np.array(data.draw(st.permutations(range(size))))
    shuffled = np.empty(size, np.int64)
    shuffled[shuffle] = np.where(parent < 0, -1, shuffle[parent])

    tree, number = Hierarchy.from_parents(shuffled, np.arange(size, dtype=np.uint64))

    assert sorted(number) == list(range(size))
    expected = np.where(shuffled < 0, -1, number[shuffled])
    assert (tree.parent[number] == expected).all()
    assert (np.diff(tree.depth) >= 0).all()
    for node in range(size):
        assert (tree.parent[tree.first_child[node] : tree.end_child[node]] == node).all()
        assert tree.tiles[node] == len(leaves_below(tree, node))
        assert tree.end_child[node] - tree.first_child[node] == (tree.parent == node).sum()
    assert [node for level in tree.levels() for node in range(level.start, level.stop)] == list(range(size))


def test_area_of_takes_the_lowest_node_of_a_cut():
    """Every node maps to the nearest node of the cut at or above it."""
    tree, _ = Hierarchy.from_parents(np.array([-1, 0, 0, 1, 1]), np.arange(5, dtype=np.uint64))

    assert tree.area_of(np.array([0, 1])).tolist() == [0, 1, 0, 1, 1]
    assert tree.area_of(np.array([3])).tolist() == [-1, -1, -1, 3, -1]


@pytest.mark.parametrize("resolution", [0, 1, 5, 10, 15])
def test_cells_equal_h3(resolution):
    """The fast index gives the cells of the h3 package."""
    lon, lat = random_points(2_000)

    assert (cells_of_points(lon, lat, resolution) == cells_of_points_reference(lon, lat, resolution)).all()


def test_points_off_the_globe_have_no_cell():
    """Both libraries would return a cell for lat 91; we do not."""
    lon = np.array([0, 0, 181, np.nan, np.inf, 0])
    lat = np.array([91, -90.1, 0, 0, 0, np.nan])

    assert (cells_of_points(lon, lat, 9) == 0).all()
    assert H3Grid(9).index(pa.array(lon), pa.array(lat)).null_count == len(lon)


def test_parents_and_digits_equal_h3():
    """Ancestors by h3ronpy and digits by bits are those of the h3 package."""
    cells = cells_of_points(*random_points(500), 11)

    for resolution in range(11):
        assert parents(cells, resolution).tolist() == [h3.cell_to_parent(int(cell), resolution) for cell in cells]
        above = parents(cells, resolution)
        finer = parents(cells, resolution + 1)
        children = [sorted(int(child) for child in h3.cell_to_children(int(cell))) for cell in above]
        for cell, digit, siblings in zip(finer.tolist(), digits(cells, resolution + 1).tolist(), children, strict=True):
            missing_one = int(len(siblings) == 6 and digit > 1)  # a pentagon has no child 1
            assert siblings[digit - missing_one] == cell


@pytest.mark.parametrize("binary", [False, True])
def test_h3_tree_holds_the_right_tiles(binary):
    """Every node's leaves are exactly the seen cells inside it, also around a pentagon."""
    pentagon = next(cell for cell in h3.get_res0_cells() if h3.is_pentagon(cell))
    around_pentagon = RANDOM.choice(np.asarray(h3.cell_to_children(int(pentagon), 4), np.uint64), 60)
    seen = np.unique(np.concatenate([cells_of_points(*random_points(60), 4), around_pentagon]))
    grid = H3Grid(4, binary=binary)

    tree, leaf = grid.hierarchy(seen)

    assert (tree.key[leaf] == seen).all()
    assert tree.is_leaf.sum() == len(seen)
    areas = grid.describe(tree, np.arange(len(tree)))
    for node in range(1, len(tree)):
        inside = _cells_of_area(areas.area[node], 4)
        below = {int(tree.key[tile]) for tile in leaves_below(tree, node)}
        assert below == inside & set(seen.tolist())
        assert areas.tiles[node] == len(inside)
    assert grid.sizes(tree, np.arange(1, len(tree))).tolist() == areas.tiles[1:].tolist()
    assert areas.area[0] == "world"
    assert areas.tiles[0] == -1
    assert np.isnan(areas.lon[0])
    assert areas.geometry[0] is None


def _cells_of_area(area, resolution):
    cell, _, wanted = area.partition(":")
    roots = [h3.str_to_int(cell)]
    if wanted:
        children = np.asarray(h3.cell_to_children(roots[0]), np.uint64)
        numbers = digits(children, h3.get_resolution(roots[0]) + 1)
        roots = [int(child) for child, digit in zip(children, numbers, strict=True) if str(digit) in wanted]
    return {int(tile) for root in roots for tile in np.asarray(h3.cell_to_children(root, resolution)).ravel()}


def test_h3_outlines_and_centres():
    """Areas have the outline of h3; a group of siblings is one connected shape; the bbox stands for the world."""
    grid = H3Grid(7, binary=True, bbox=CITY_BBOX)
    lon, lat = RANDOM.uniform(4.4, 4.8, 200), RANDOM.uniform(50.3, 50.5, 200)
    tree, _ = grid.hierarchy(np.unique(cells_of_points(lon, lat, 7)))

    areas = grid.describe(tree, np.arange(len(tree)))

    assert shapely.equals(areas.geometry[0], shapely.box(*CITY_BBOX))
    assert areas.tiles[0] > 100
    for name, shape, x, y in zip(areas.area[1:], areas.geometry[1:], areas.lon[1:], areas.lat[1:], strict=True):
        assert shape.geom_type == "Polygon"
        if ":" not in name:
            assert (y, x) == pytest.approx(h3.cell_to_latlng(h3.str_to_int(name)))
    sizes = grid.square_kilometers(tree, np.arange(1, len(tree)))
    assert (sizes > 0).all()


@pytest.mark.parametrize(
    ("bbox", "expected"),
    [
        (None, h3.get_num_cells(3)),
        (CITY_BBOX, None),
        ((-180.0, -90.0, 180.0, 90.0), h3.get_num_cells(3)),
        ((-100.0, -10.0, 90.0, 10.0), h3.get_num_cells(3)),
        ((4.5, 50.3, 4.5001, 50.3001), 5),
    ],
)
def test_size_of_the_world(bbox, expected):
    """The world has the tiles of the bbox, never fewer than were seen; those of the globe if these are not counted."""
    grid = H3Grid(3, bbox=bbox)
    tree, _ = grid.hierarchy(np.sort(np.asarray(h3.grid_disk(h3.latlng_to_cell(50.4, 4.6, 3), 1), np.uint64))[:5])

    tiles = grid.describe(tree, np.array([0])).tiles[0]

    assert grid.sizes(tree, np.array([0]))[0] == (max(tiles, 5) if expected is None else expected)
    assert grid.sizes(tree, np.arange(1, len(tree))).max() == h3.cell_to_children_size(h3.get_res0_cells()[0], 3)


def test_pentagons_equal_h3():
    """A pentagon is told from its bits, at every resolution."""
    for resolution in range(12):
        cells = np.concatenate([cells_of_points(*random_points(50), resolution), h3.get_pentagons(resolution)])
        near = [cell for pentagon in h3.get_pentagons(resolution) for cell in h3.grid_disk(pentagon, 1)]
        cells = np.concatenate([cells, near]).astype(np.uint64)
        assert is_pentagon(cells).tolist() == [h3.is_pentagon(cell) for cell in cells.tolist()]
        assert resolutions(cells).tolist() == [resolution] * len(cells)


def test_quadtree_squares():
    """A point lies in the square of its tile and of every ancestor; anchors are 0,0 of the UTM zone."""
    tree_of = Quadtree(250, CITY_BBOX)
    lon, lat = RANDOM.uniform(4.4, 4.8, 300), RANDOM.uniform(50.3, 50.5, 300)
    x, y = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32631", always_xy=True).transform(lon, lat)

    keys = tree_of.index(pa.array(lon), pa.array(lat)).to_numpy()
    seen, position = np.unique(keys, return_inverse=True)
    tree, leaf = tree_of.hierarchy(seen)

    node = leaf[position]
    for level in range(5):
        names = tree_of.ids(tree, node)
        width = 250 * 2**level
        assert names == [f"q:{level}/{int(a // width)}/{int(b // width)}" for a, b in zip(x, y, strict=True)]
        shapes = tree_of.describe(tree, node).geometry
        assert shapely.contains(shapes, shapely.points(lon, lat)).mean() > 0.99  # edges are bent in degrees
        node = tree.parent[node]
    sizes = tree_of.square_kilometers(tree, leaf)
    assert sizes == pytest.approx(np.full(len(leaf), 0.0625), rel=2e-3)
    nodes = np.arange(len(tree))
    assert tree_of.sizes(tree, nodes).tolist() == tree_of.describe(tree, nodes).tiles.tolist()
    assert tree_of.index(pa.array([200.0]), pa.array([95.0])).null_count == 1


def test_ward_equals_scipy():
    """ward:N is SciPy's node N over zones sorted by id; members are its leaves."""
    table = read_zones(City(seed=1).zones())
    zones = Zones(table, "ward")
    points = to_meters(table.lon, table.lat)
    nodes = {f"ward:{node.id}": node for node in to_tree(linkage(points, "ward"), rd=True)[1]}

    areas = zones.describe(zones._tree, np.arange(len(zones._tree)))

    assert areas.area[0] == "all"
    assert areas.members[0] is None
    assert areas.geometry[0] is None
    for name, members, tiles in zip(areas.area[1:], areas.members[1:], areas.tiles[1:], strict=True):
        assert members == [table.ids[zone] for zone in sorted(nodes[name].pre_order())]
        assert tiles == len(members)


def test_zones_with_decimal_commas(tmp_path):
    """Degrees of a table of stations are read with a comma as with a point, and what is no number is refused."""
    path = tmp_path / "stations.csv"
    path.write_text("Name;Breite;L\u00e4nge\nNord;50,5;-4,25\nS\u00fcd;50,25;4\nirgendwo;;\n", encoding="cp1252")
    columns = {"zone_id": "Name", "lon": "L\u00e4nge", "lat": "Breite"}

    zones = read_zones(path, columns=columns)

    assert zones.ids == ["Nord", "S\u00fcd", "irgendwo"]
    assert zones.lon[:2].tolist() == [-4.25, 4.0]
    assert zones.lat[:2].tolist() == [50.5, 50.25]
    assert np.isnan(zones.lon[2])
    path.write_text("zone_id;lon;lat\nNord;1,234,5;50\n", encoding="utf-8")
    with pytest.raises(InputError, match="numbers"):
        read_zones(path)


def test_zones_are_as_large_as_their_outlines():
    """An area has the square kilometers of its zones; the top has those of all, though no outline of it is told."""
    zones = Zones(read_zones(City(seed=1).zones()), "ward")
    nodes = np.arange(len(zones._tree))

    sizes = zones.sizes(zones._tree, nodes)

    assert sizes[1:] == pytest.approx(zones.square_kilometers(zones._tree, nodes)[1:], rel=1e-3)
    assert sizes[0] == pytest.approx(sizes[zones._leaf].sum())


@pytest.mark.parametrize("shape", [None, "POINT (0.5 0.5)", "POLYGON EMPTY"])
def test_zones_without_outlines_have_no_size(shape):
    """One zone that has no outline is enough to refuse: an area of it would look smaller than it is."""
    outlines = ["POLYGON ((0 0, 1 0, 1 1, 0 0))", shape]
    table = pa.table({"zone_id": ["a", "b"], "geometry": pa.array(outlines, pa.string()), "lon": [0, 1], "lat": [0, 1]})
    zones = choose_places(zones=table)

    with pytest.raises(InputError, match="1 of 2 zones have no outline, 'b'"):
        zones.sizes(zones._tree, np.arange(3))


def test_sizes_do_not_depend_on_the_way_of_rings():
    """A hole is taken away and parts add up, in whichever order corners are listed."""
    outer, inner = [(0, 0), (4, 0), (4, 4), (0, 4)], [(1, 1), (3, 1), (3, 3), (1, 3)]
    there = shapely.Polygon([(6, 0), (6, 1), (7, 1), (7, 0)])
    shapes = [
        shapely.MultiPolygon([shapely.Polygon(first, [second]), other])
        for first in (outer, outer[::-1])
        for second in (inner, inner[::-1])
        for other in (there, there.reverse())
    ]
    shapes += [shapely.GeometryCollection([shape, shapely.Point(9, 9)]) for shape in shapes]

    whole, hole, apart = square_kilometers(np.array([shapely.Polygon(outer), shapely.Polygon(inner), there], object))

    assert square_kilometers(np.array(shapes, object)) == pytest.approx(np.full(16, whole - hole + apart))


def test_column_hierarchy_splits_and_hangs():
    """A value under two parents is two nodes named by their paths; a null level hangs the zone higher."""
    table = pa.table(
        {
            "block": ["b1", "b2", "b3", "b4", "b5"],
            "tract": ["t1", "t1", "t2", "t2", None],
            "town": ["north", "south", "south", None, "south"],
        }
    )
    zones = choose_places(zones=table, hierarchy=["block", "tract", "town"])
    tree = zones._tree

    areas = zones.describe(tree, np.arange(len(tree)))

    members = dict(zip(areas.area, areas.members, strict=True))
    assert members == {
        "all": None,
        "town=north": ["b1"],
        "town=south": ["b2", "b3", "b5"],
        "tract=t2": ["b4"],
        "town=north/tract=t1": ["b1"],
        "town=south/tract=t1": ["b2"],
        "town=south/tract=t2": ["b3"],
        "block=b1": ["b1"],
        "block=b2": ["b2"],
        "block=b3": ["b3"],
        "block=b4": ["b4"],
        "block=b5": ["b5"],
    }
    assert len(zones.report()) == 3


def test_area_names_are_distinct_even_when_values_collide():
    """An area id names one area, whatever the values look like."""
    table = pa.table({"id": ["1", "2", "3"], "a": ["x", "y", "x"], "b": ["p", None, "q"]})
    zones = choose_places(zones=table, hierarchy=["id", "a", "b"])

    names = zones.ids(zones._tree, np.arange(len(zones._tree)))

    assert len(set(names)) == len(names)


def test_zone_formats_agree(tmp_path):
    """GeoParquet, GeoParquet in another CRS, GeoJSON and CSV give the same zones."""
    table = City(seed=1).zones()
    shapes = shapely.from_wkb(table["geometry"].to_pylist())
    pq.write_table(table, tmp_path / "zones.parquet")
    forward = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32631", always_xy=True)
    moved = shapely.transform(shapes, lambda p: np.column_stack(forward.transform(p[:, 0], p[:, 1])))
    geo = {"columns": {"geometry": {"crs": "EPSG:32631"}}, "primary_column": "geometry"}
    other = table.set_column(table.column_names.index("geometry"), "geometry", pa.array(shapely.to_wkb(moved)))
    pq.write_table(other.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "utm.parquet")
    rows = table.drop_columns(["geometry"]).to_pylist()
    features = [
        {"type": "Feature", "properties": row, "geometry": json.loads(shapely.to_geojson(shape))}
        for row, shape in zip(rows, shapes, strict=True)
    ]
    (tmp_path / "zones.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    pa.csv.write_csv(table.drop_columns(["geometry"]), tmp_path / "zones.csv")

    expected = read_zones(table)
    for name in ("zones.parquet", "utm.parquet", "zones.geojson", "zones.csv"):
        actual = read_zones(tmp_path / name)
        assert actual.ids == expected.ids
        assert actual.columns["district"] == expected.columns["district"]
        assert actual.lon == pytest.approx(expected.lon)
        if name != "zones.csv":
            assert shapely.equals_exact(actual.geometry, expected.geometry, 1e-6).all()


@pytest.mark.parametrize("text", ["1,2,3", "a,b,c,d", "5,0,4,1", "0,0,0,0", "-181,0,0,1", "0,0,nan,1", ""])
def test_bad_boxes_are_refused(text):
    """A box that is not west, south, east, north in degrees is an error."""
    with pytest.raises(InputError):
        parse_bbox(text)


def test_h3_outlines_at_the_seams_are_valid():
    """Cells on the date line and around the poles have valid outlines that hold their centre."""
    seams = [(89.99, 10.0), (-89.99, -70.0), (0.0, 180.0), (10.0, -179.99), (75.0, 179.9)]
    cells = np.unique(np.array([h3.latlng_to_cell(lat, lon, res) for lat, lon in seams for res in (2, 4)], np.uint64))
    grid = H3Grid(4, binary=True)
    tree, _ = grid.hierarchy(np.unique(np.concatenate([np.asarray(h3.cell_to_children(int(c), 4)) for c in cells])))

    areas = grid.describe(tree, np.arange(1, len(tree)))

    assert shapely.is_valid(areas.geometry).all()
    whole = np.array([":" not in name for name in areas.area])
    points = [shapely.points(areas.lon + turn, areas.lat) for turn in (-360, 0, 360)]
    inside = np.any([shapely.contains(areas.geometry, point) for point in points], axis=0)
    assert inside[whole].all()
