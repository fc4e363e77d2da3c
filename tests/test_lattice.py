"""Rectangles on a lattice: all of them, every way to halve them, and H3 cells and squares as tiles."""

from __future__ import annotations

from itertools import product

import h3.api.numpy_int as h3
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import InputError
from flowveil._places import choose_places
from flowveil._places.axial import PENTAGONS, cells_at, coordinates, count_cells, surely_inside
from flowveil._places.lattice import Lattice

BITS = 4
Tile = tuple[int, int, int]  # block, x, y


def rectangles_of(tiles: set[Tile], aspect: int) -> dict[frozenset[Tile], tuple[int, ...]]:
    """Return what rectangles hold of the tiles, each with the smallest rectangle that holds it, by trying all."""
    smallest: dict[frozenset[Tile], tuple[int, ...]] = {}
    sizes = [(wide, high) for wide, high in product(range(BITS + 1), repeat=2) if abs(wide - high) <= aspect]
    for wide, high in sorted(sizes, key=sum):
        for place in {(block, x >> wide, y >> high) for block, x, y in tiles}:
            held = frozenset(tile for tile in tiles if (tile[0], tile[1] >> wide, tile[2] >> high) == place)
            smallest.setdefault(held, (place[0], wide, high, *place[1:]))
    return smallest


def halvings(held: frozenset[Tile], tiles: set[Tile], aspect: int) -> set[frozenset[frozenset[Tile]]]:
    """Return how rectangles that hold just these tiles are parted by one halving, by trying all."""
    block, x, y = next(iter(held))
    found = set()
    for wide, high in product(range(BITS + 1), repeat=2):
        around = {t for t in tiles if (t[0], t[1] >> wide, t[2] >> high) == (block, x >> wide, y >> high)}
        if abs(wide - high) > aspect or around != held:
            continue
        for less in ((1, 0), (0, 1)):
            size = wide - less[0], high - less[1]
            if min(size) >= 0 and abs(size[0] - size[1]) <= aspect:
                parts: dict[tuple[int, int], set[Tile]] = {}
                for tile in held:
                    parts.setdefault((tile[1] >> size[0], tile[2] >> size[1]), set()).add(tile)
                if len(parts) == 2:
                    found.add(frozenset(map(frozenset, parts.values())))
    return found


tiles_of_blocks = st.sets(
    st.tuples(st.integers(0, 1), st.integers(0, 2**BITS - 1), st.integers(0, 2**BITS - 1)), min_size=2, max_size=14
)


@settings(max_examples=60, deadline=None)
@given(tiles_of_blocks, st.integers(1, 3))
def test_all_rectangles_and_all_halvings(tiles, aspect):
    """The family has the smallest of all rectangles that hold the same tiles, and every way to halve it, once."""
    lattice = Lattice(BITS, aspect)
    family = lattice.family(*np.array(sorted(tiles)).T)
    ways = family.ways
    rectangle = lattice.unpack(family.key)
    place, leaf = family.inside(np.arange(len(family)))
    tile = lattice.unpack(family.tree.key[leaf])
    held = [set() for _ in range(len(family))]
    for area, block, x, y in zip(place.tolist(), tile.block.tolist(), tile.x.tolist(), tile.y.tolist(), strict=True):
        held[area].add((block, x, y))
    expected = rectangles_of(tiles, aspect)
    expected.pop(frozenset(tiles), None)  # what holds all is the root

    areas = {frozenset(held[area]): tuple(int(part[area]) for part in rectangle) for area in range(1, len(family))}
    assert held[0] == tiles
    assert areas == expected
    assert (lattice.pack(rectangle)[1:] == family.key[1:]).all()
    for area in range(1, len(family)):
        nodes = [int(node) for node in ways.way[ways.first_way[area] : ways.first_way[area + 1]] if node >= 0]
        parts = [ways.area[ways.first_child[node] : ways.end_child[node]].tolist() for node in nodes]
        assert all(area < part for split in parts for part in split)
        splits = [frozenset(frozenset(held[part]) for part in split) for split in parts]
        assert len(splits) == len(set(splits))
        assert set(splits) == halvings(frozenset(held[area]), tiles, aspect)


@settings(max_examples=40, deadline=None)
@given(tiles_of_blocks, st.integers(0, BITS), st.integers(0, BITS))
def test_listed_rectangles_hold_their_tiles(tiles, wide, high):
    """Whatever rectangles are named, the tiles inside are found."""
    lattice = Lattice(BITS)
    tree, leaf = lattice.first_tree(*np.array(sorted(tiles)).T)
    wanted = sorted({(block, x >> wide, y >> high) for block, x, y in tiles})
    keys = [lattice.pack_one(block, (wide, high), (x, y)) for block, x, y in wanted]

    listed, number = lattice.listed(tree, [*keys, None, 0])

    assert number[-2:].tolist() == [-1, 0]
    for area, one in zip(number[:-2].tolist(), wanted, strict=True):
        _, inside = listed.inside(np.array([area]))
        expected = [t for t in sorted(tiles) if (t[0], t[1] >> wide, t[2] >> high) == one]
        assert sorted(inside.tolist()) == sorted(int(leaf[sorted(tiles).index(t)]) for t in expected)
        assert listed.tiles[area] == len(expected)


def cells_everywhere(resolution: int) -> np.ndarray:
    """Return cells all over the globe."""
    random = np.random.default_rng(7)
    lat, lon = np.degrees(np.arcsin(random.uniform(-1, 1, 300))), random.uniform(-180, 180, 300)
    return np.unique([h3.latlng_to_cell(y, x, resolution) for y, x in zip(lat, lon, strict=True)]).astype(np.uint64)


@pytest.mark.parametrize("resolution", [0, 1, 4, 9, 10, 15])
def test_coordinates_are_those_of_h3(resolution):
    """Coordinates lead back to the cell, and are H3's own wherever it has any."""
    cells = cells_everywhere(resolution)

    base, u, v = coordinates(cells, resolution)

    assert (cells_at(base, u, v, resolution) == cells).all()
    for cell, number, i, j in zip(cells.tolist(), base.tolist(), u.tolist(), v.tolist(), strict=True):
        if number not in PENTAGONS:
            middle = h3.cell_to_center_child(h3.cell_to_parent(cell, 0), resolution)
            assert tuple(h3.cell_to_local_ij(middle, cell)) == (i, j)


@pytest.mark.parametrize("base", [0, 4, 20, 117])
def test_cells_are_counted_without_being_listed(base):
    """As many cells lie in a rectangle as the children of the base cell say, at its edge and around a pentagon too."""
    resolution = 3
    top = next(cell for cell in h3.get_res0_cells() if h3.get_base_cell_number(int(cell)) == base)
    children = np.asarray(h3.cell_to_children(int(top), resolution), np.uint64)
    _, u, v = coordinates(children, resolution)
    random = np.random.default_rng(3)

    for low in random.integers(-20, 15, (40, 2)).tolist():
        high = [start + int(size) for start, size in zip(low, random.integers(1, 25, 2), strict=True)]
        inside = (u >= low[0]) & (u < high[0]) & (v >= low[1]) & (v < high[1])
        count = count_cells(base, resolution, tuple(low), tuple(high))
        assert count == int(inside.sum())
        bounds = [[np.array([value]) for value in corner] for corner in (low, high)]
        if base not in PENTAGONS and surely_inside(*bounds, resolution)[0]:
            assert count == (high[0] - low[0]) * (high[1] - low[1])


@pytest.mark.slow
@pytest.mark.parametrize("grid", ["h3:7", "quadtree:2000"])
def test_outlines_hold_their_tiles(grid):
    """The center of every tile lies in the outlines of all areas that hold it; ids lead back to the areas."""
    random = np.random.default_rng(11)
    places = choose_places(grid, hierarchy="lattice", bbox=(4.0, 50.0, 5.0, 51.0))
    lon, lat = random.uniform(4.2, 4.8, 200), random.uniform(50.2, 50.8, 200)
    import pyarrow as pa

    tiles = np.unique(places.index(pa.array(lon), pa.array(lat)).to_numpy())
    tree, leaf = places.hierarchy(tiles)
    family = places.family(tree)
    areas = np.arange(len(family))
    known = places.describe(family, areas)
    place, inside = family.inside(areas)

    centers = places.centers(tree, inside)
    assert shapely.contains_xy(known.geometry[place], *centers).all()
    listed, number = places.listed(tree, known.area)
    assert (number[1:] > 0).all()
    assert number[0] == 0
    assert places.ids(listed, number) == known.area
    assert (listed.tiles[number] == family.tiles).all()
    assert (known.tiles[1:] >= family.tiles[1:]).all()
    assert len(tree.key[leaf]) == len(tiles)


@pytest.mark.parametrize(
    "area", ["", "l:", "l:1/2", "l:20/1/1/0/0/0", "l:20/99/1/0/0", "r:1", "8928308280fffff0", "q:x"]
)
def test_strange_ids_are_no_areas(area):
    """What is no id of the lattice has no number, and no error."""
    places = choose_places("h3:7", hierarchy="lattice")
    tree, _ = places.hierarchy(np.array([h3.latlng_to_cell(50.5, 4.5, 7), h3.latlng_to_cell(50.6, 4.5, 7)], np.uint64))

    _, number = places.listed(tree, [area])

    assert number.tolist() == [-1]


def test_aspects_that_there_are_not():
    """A lattice needs a number that makes sense."""
    for hierarchy in ("lattice:0", "lattice:9", "lattice:x", "lattice:"):
        with pytest.raises(InputError, match="aspect"):
            choose_places("h3:9", hierarchy=hierarchy)
