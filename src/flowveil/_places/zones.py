"""Places that are zones: joined by a dendrogram of their centroids or by the columns of their table."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute
import shapely

from flowveil._errors import InputError, UnknownNameError
from flowveil._places.dendrograms import many_trees, ward_tree
from flowveil._places.family import Family, list_areas
from flowveil._places.geodesy import square_kilometers
from flowveil._places.hierarchy import ROOT, Hierarchy, depths
from flowveil._places.naming import ZoneNames
from flowveil._places.outlined import Outlined
from flowveil._places.places import AreaTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import Column, FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.family import Listed, Numbered
    from flowveil._places.naming import Naming
    from flowveil._places.zone_table import ZoneTable


class Zones:
    """Tiles are the zones of a table, all of them, seen in the data or not.

    The tile key of a zone is its rank among the ids, sorted as text; a node's key is its number in `names`.
    """

    top = "all"
    by_zone = True
    open = False

    def __init__(self, table: ZoneTable, hierarchy: str | Sequence[str]) -> None:
        self.table = table
        self.typed_hierarchy = hierarchy if isinstance(hierarchy, str) else list(hierarchy)
        self._notes: list[str] = []
        values: dict[str, str] = {}
        if hierarchy == "many":
            trees = many_trees(table)
            self._names, keys = _name_areas(trees)
        else:
            trees, self._names, values = self._one_tree(hierarchy)
            keys = [np.arange(len(self._names), dtype=np.uint64)]
        if len(set(self._names)) < len(self._names):
            raise InputError(
                "two areas of the hierarchy would have the same id", "rename values or columns that hold '/' or '='"
            )
        grown = [Hierarchy.from_parents(parent, key) for parent, key in zip(trees.values(), keys, strict=True)]
        self._tree, number = grown[0]
        self._family = Family.join([tree for tree, _ in grown]) if len(grown) > 1 else Family.of(self._tree)
        self._leaf = number[: len(table.ids)]
        self._zone_of_node = np.full(len(self._tree), -1, np.int64)
        self._zone_of_node[self._leaf] = np.arange(len(table.ids))
        self._area_of_key = np.empty(len(self._names), np.int64)
        self._area_of_key[self._family.key.astype(np.int64)] = np.arange(len(self._family))
        self._id_set = pa.array(table.ids, pa.string())
        self._united: dict[int, shapely.Geometry | None] = {}  # by key: areas are asked for at both ends, and measured
        self._measured: dict[int, float] = {}  # by key, too
        self.naming: Naming = ZoneNames(table, values)

    def _one_tree(self, hierarchy: str | Sequence[str]) -> tuple[dict[str, IntArray], list[str], dict[str, str]]:
        """Return the only tree by name, the ids of its nodes, and by id what those of columns are called."""
        values: dict[str, str] = {}
        if hierarchy == "ward":
            parent = ward_tree(self.table)
            names = [f"ward:{number}" for number in range(len(parent))]
        elif isinstance(hierarchy, str):
            raise InputError(f"zones have no hierarchy {hierarchy!r}", "use many, ward, or columns from fine to coarse")
        else:
            parent, names, values, self._notes = _column_tree(self.table, list(hierarchy))
        return {"": parent}, names, values

    def index(self, *columns: Column) -> Column:
        """Return the ranks of zone ids (text), or of the zones that points (lon, lat) lie in; null for none."""
        if len(columns) > 1:
            lon, lat = (np.asarray(column.to_numpy(zero_copy_only=False), np.float64) for column in columns)
            rank = self.outlined.find(lon, lat)
            return pa.array(rank.astype(np.uint64), mask=rank < 0)
        return pa.compute.index_in(columns[0].cast(pa.string()), value_set=self._id_set).cast(pa.uint64())

    @cached_property
    def outlined(self) -> Outlined:
        """The outlines of the zones."""
        return Outlined(self.table.ids, self.table.geometry)

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the tree over all zones."""
        return self._tree, self._leaf[seen.astype(np.int64)]

    def family(self, hierarchy: Hierarchy) -> Family:  # noqa: ARG002
        """Return the areas of all trees of the zones."""
        return self._family

    def listed(self, hierarchy: Hierarchy, areas: Sequence[str]) -> tuple[Listed, IntArray]:
        """Return the areas with these ids, and the number of each; -1 for one that the trees do not have."""
        return list_areas(self, hierarchy, areas)

    def ids(self, hierarchy: Numbered, nodes: IntArray) -> list[str]:
        """Return `ward:N` (or another tree's name) or `column=value`, `all` for the root."""
        keys = hierarchy.key[nodes].tolist()
        return [self._names[key] if node else self.top for node, key in zip(nodes.tolist(), keys, strict=True)]

    def describe(self, hierarchy: Numbered, nodes: IntArray) -> AreaTable:
        """Return ids, centers, tiles, member zones and united shapes of nodes."""
        zones = self._members(hierarchy, nodes)
        lon, lat = self.centers(hierarchy, nodes)
        return AreaTable(
            area=self.ids(hierarchy, nodes),
            lon=lon,
            lat=lat,
            tiles=np.where(nodes == ROOT, -1, hierarchy.tiles[nodes]),
            members=[
                None if node == ROOT else self._ids_of(of) for node, of in zip(nodes.tolist(), zones, strict=True)
            ],
            geometry=self._shapes(hierarchy, nodes),
        )

    def centers(self, hierarchy: Numbered, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean of the centers of the zones of each node; none for the root."""
        lon, lat = (values[self._area_of_key[hierarchy.key[nodes].astype(np.int64)]] for values in self._centers)
        return np.where(nodes == ROOT, np.nan, lon), np.where(nodes == ROOT, np.nan, lat)

    @cached_property
    def _centers(self) -> tuple[FloatArray, FloatArray]:
        """By area of the family: the mean of lon and lat of its zones."""
        known = np.isfinite(self.table.lon) & np.isfinite(self.table.lat)
        lon, lat, count = (
            self._add_up(np.where(known, values, 0.0)) for values in (self.table.lon, self.table.lat, known)
        )
        with np.errstate(invalid="ignore"):
            return lon / count, lat / count

    def _add_up(self, values: FloatArray) -> FloatArray:
        """Return by area of the family the sum of the values of its zones."""
        family = self._family
        sums = np.zeros(len(family))
        zone_area = family.number[0][self._leaf]
        for number, tree, nodes in zip(family.number, family.trees, family.nodes, strict=True):
            of_node = np.zeros(len(tree))
            of_node[nodes[zone_area]] = values
            sums[number] = tree.add_up(of_node)
        return sums

    def square_kilometers(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return the ellipsoidal size of the united shapes, NaN for none. Matrices ask for the same areas again."""
        keys = hierarchy.key[nodes].tolist()
        new = np.array([node for node, key in zip(nodes.tolist(), keys, strict=True) if key not in self._measured], int)
        measured = square_kilometers(self._shapes(hierarchy, new)).tolist()
        self._measured.update(zip(hierarchy.key[new].tolist(), measured, strict=True))
        return np.array([self._measured[key] for key in keys], np.float64)

    def sizes(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return the ellipsoidal size of all zones of each node together, or raise if a zone has none."""
        return self._add_up(self._sizes_of_zones)[self._area_of_key[hierarchy.key[nodes].astype(np.int64)]]

    def settings(self) -> dict[str, Json]:
        """Return the hierarchy as typed, and what zones are named by; the zones themselves are in areas.parquet."""
        return {"grid": None, "hierarchy": self.typed_hierarchy} | self.naming.settings()

    def report(self) -> list[str]:
        """Return what did not fit a tree in the columns, and what zones are named by if nobody said it."""
        column = self.table.name_column
        named = [] if column is None or self.table.name_typed else [f"zones are named by their column {column!r}"]
        outlines = self.outlined.report() if "outlined" in vars(self) else []  # where they are used
        return [*self._notes, *named, *outlines]

    def hint_for(self, unknown: Sequence[str]) -> str | None:
        """Return a hint when unknown ids differ from known ones only by type, leading zeros or composed letters."""
        known = {_bare(zone): zone for zone in self.table.ids}
        for zone in unknown:
            if (match := known.get(_bare(zone))) is not None:
                letters = unicodedata.normalize("NFC", zone) == unicodedata.normalize("NFC", match)
                why = "; one of them has accents as letters of their own (Unicode)" if letters else ""
                return f"zone {zone!r} of the trips looks like {match!r} of the zones: ids are compared as text{why}"
        return None

    @cached_property
    def _sizes_of_zones(self) -> FloatArray:
        sizes = square_kilometers(self.table.geometry)
        if without := [zone for zone, size in zip(self.table.ids, sizes.tolist(), strict=True) if not size > 0]:
            raise InputError(
                f"{len(without)} of {len(sizes)} zones have no outline, {without[0]!r} among them: they have no size",
                "give a geometry with an area for every zone, or use the loss tiles",
            )
        return sizes

    def _ids_of(self, zones: IntArray) -> list[str]:
        return [self.table.ids[zone] for zone in zones.tolist()]

    def _members(self, hierarchy: Numbered, nodes: IntArray) -> list[IntArray]:
        """Return the zones of each node, ascending."""
        areas = self._area_of_key[hierarchy.key[nodes].astype(np.int64)]
        place, leaf = self._family.inside(areas)
        bounds = np.searchsorted(place, np.arange(len(areas) + 1))
        zones = self._zone_of_node[leaf]
        return [np.sort(zones[start:end]) for start, end in pairwise(bounds.tolist())]

    def _shapes(self, hierarchy: Numbered, nodes: IntArray) -> npt.NDArray[np.object_]:
        """Unite the shapes of the zones of each node; None for the root and where any zone has no shape."""
        shapes = np.full(len(nodes), None, object)
        keys = hierarchy.key[nodes].tolist()
        inner = np.flatnonzero(nodes != ROOT).tolist()
        new = np.array([nodes[row] for row in inner if keys[row] not in self._united], np.int64)
        for key, zones in zip(hierarchy.key[new].tolist(), self._members(hierarchy, new), strict=True):
            self._united[key] = _unite(self.table.geometry[zones])
        for row in inner:
            shapes[row] = self._united[keys[row]]
        return shapes


def _unite(parts: npt.NDArray[np.object_]) -> shapely.Geometry | None:
    if any(part is None for part in parts):
        return None
    return parts[0] if len(parts) == 1 else shapely.union_all(shapely.make_valid(parts))


def _bare(zone: str) -> str:
    return unicodedata.normalize("NFKD", zone).strip().removesuffix(".0").lstrip("0").casefold()


def _name_areas(trees: dict[str, IntArray]) -> tuple[list[str], list[KeyArray]]:
    """Return names of the areas of several trees, and by tree and node the place of its area in them.

    An area that an earlier tree has keeps the name that it has there: the tree's and the number of the node. Areas with
    the same zones are told by sums of random numbers of their zones, which differ for all others but by a chance of
    one in 10**30.
    """
    names: list[str] = []
    known: dict[tuple[int, ...], int] = {}
    keys = []
    for tree, parent in trees.items():
        marks = np.column_stack([_marks_of_zones(parent), parent < 0])  # the root over a lone zone is not that zone
        key = np.empty(len(parent), np.uint64)
        for node, mark in enumerate(map(tuple, marks.tolist())):
            if mark not in known:
                known[mark] = len(names)
                names.append(f"{tree}:{node}")
            key[node] = known[mark]
        keys.append(key)
    return names, keys


def _marks_of_zones(parent: IntArray) -> KeyArray:
    """Return by node the sum of two numbers of each of its zones, which come first among the nodes."""
    count = (len(parent) + 1) // 2
    marks = np.zeros((len(parent), 2), np.uint64)
    marks[:count] = np.random.default_rng(0).integers(0, 2**64, (count, 2), np.uint64)
    for node in np.argsort(-depths(parent), kind="stable").tolist():
        if parent[node] >= 0:
            marks[parent[node]] += marks[node]
    return marks


def _column_tree(table: ZoneTable, columns: list[str]) -> tuple[IntArray, list[str], dict[str, str], list[str]]:
    """Build the tree of columns given from fine to coarse: a node is its path from the top.

    A null level hangs the zone on the next level up. Zones come first in the numbering.
    """
    for column in columns:
        if column not in table.columns:
            raise UnknownNameError("zone column", column, table.columns)
    if len(set(columns)) < len(columns) or table.columns[columns[0]] != table.ids:
        raise InputError(
            f"the hierarchy {','.join(columns)} does not start with the zones' ids",
            "list distinct columns from fine to coarse; the first holds the zone ids",
        )
    count = len(table.ids)
    paths: list[tuple[tuple[str, str], ...]] = [()] * count
    nodes: dict[tuple[tuple[str, str], ...], None] = {}
    for column in reversed(columns[1:]):
        for row, value in enumerate(table.columns[column]):
            if value is not None:
                paths[row] = (*paths[row], (column, value))
                nodes[paths[row]] = None
    inner = {path: count + place for place, path in enumerate(sorted(nodes))}
    root = count + len(inner)
    parent = [inner.get(path, root) for path in paths]
    parent += [inner[path[:-1]] if len(path) > 1 else root for path in inner]
    steps = [path[-1] for path in inner]
    names = [f"{columns[0]}={zone}" for zone in table.ids]
    twice = {step for step, times in Counter(steps).items() if times > 1}
    told = [path if path[-1] in twice else path[-1:] for path in inner]
    ids = ["/".join(f"{column}={value}" for column, value in path) for path in told]
    values = {id_: ", ".join(value for _, value in reversed(path)) for id_, path in zip(ids, told, strict=True)}
    return np.array([*parent, -1]), [*names, *ids, "all"], values, _tree_notes(table, columns, list(inner))


def _tree_notes(table: ZoneTable, columns: list[str], inner: list[tuple[tuple[str, str], ...]]) -> list[str]:
    """Say which values were split and which zones hang higher, column by column."""
    notes = []
    for column, above in zip(columns[1:], [*columns[2:], None], strict=False):
        values = Counter(
            path[-1][1] for path in inner if path[-1][0] == column and path[-2:-1] and path[-2][0] == above
        )
        if split := sum(times > 1 for times in values.values()):
            notes.append(f"{split} values of {column} span several values of {above}: each part is a node of its own")
        if missing := sum(value is None for value in table.columns[column]):
            notes.append(f"{missing} zones have no {column}: each hangs on the next level up")
    return notes
