"""Places that are zones: joined by a dendrogram of their centroids or by the columns of their table."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute
import shapely

from flowveil._errors import InputError, UnknownNameError
from flowveil._places.geodesy import square_kilometers, to_meters
from flowveil._places.hierarchy import ROOT, Hierarchy
from flowveil._places.places import AreaTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import Column, FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.zone_table import ZoneTable

_MOST_WARD_ZONES = 20_000  # the dendrogram needs all distances: 1.6 GB at this number


class Zones:
    """Tiles are the zones of a table, all of them, seen in the data or not.

    The tile key of a zone is its rank among the ids, sorted as text; a node's key is its number in `names`.
    """

    top = "all"
    by_zone = True

    def __init__(self, table: ZoneTable, hierarchy: str | Sequence[str]) -> None:
        self.table = table
        self.typed_hierarchy = hierarchy if isinstance(hierarchy, str) else list(hierarchy)
        self._notes: list[str] = []
        if hierarchy == "ward":
            parent, self._names = _dendrogram(table)
        elif isinstance(hierarchy, str):
            raise InputError(f"zones have no hierarchy {hierarchy!r}", "use ward, or columns from fine to coarse")
        else:
            parent, self._names, self._notes = _column_tree(table, list(hierarchy))
        if len(set(self._names)) < len(self._names):
            raise InputError(
                "two areas of the hierarchy would have the same id", "rename values or columns that hold '/' or '='"
            )
        self._tree, number = Hierarchy.from_parents(parent, np.arange(len(parent), dtype=np.uint64))
        self._leaf = number[: len(table.ids)]
        self._zone_of_node = np.full(len(self._tree), -1, np.int64)
        self._zone_of_node[self._leaf] = np.arange(len(table.ids))
        self._id_set = pa.array(table.ids, pa.string())

    def index(self, *columns: Column) -> Column:
        """Return the ranks of zone ids (text); null for an unknown zone."""
        return pa.compute.index_in(columns[0].cast(pa.string()), value_set=self._id_set).cast(pa.uint64())

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the tree over all zones."""
        return self._tree, self._leaf[seen.astype(np.int64)]

    def ids(self, hierarchy: Hierarchy, nodes: IntArray) -> list[str]:
        """Return `ward:N` or `column=value`, `all` for the root."""
        keys = hierarchy.key[nodes].tolist()
        return [self._names[key] if node else self.top for node, key in zip(nodes.tolist(), keys, strict=True)]

    def describe(self, hierarchy: Hierarchy, nodes: IntArray) -> AreaTable:
        """Return ids, centers, tiles, member zones and united shapes of nodes."""
        zones = [self._members(node) for node in nodes.tolist()]
        lon, lat = self.centers(hierarchy, nodes)
        return AreaTable(
            area=self.ids(hierarchy, nodes),
            lon=lon,
            lat=lat,
            tiles=np.where(nodes == ROOT, -1, hierarchy.tiles[nodes]),
            members=[
                None if node == ROOT else self._ids_of(of) for node, of in zip(nodes.tolist(), zones, strict=True)
            ],
            geometry=self._shapes(nodes),
        )

    def centers(self, hierarchy: Hierarchy, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean of the centers of the zones of each node; none for the root."""
        weights = self._has_place().astype(np.int64)
        sums = [np.zeros(len(hierarchy)) for _ in range(3)]
        for total, values in zip(sums, (self.table.lon, self.table.lat, weights), strict=True):
            total[self._leaf] = np.where(weights > 0, values, 0)
            hierarchy.add_up(total)
        with np.errstate(invalid="ignore"):
            lon, lat = sums[0][nodes] / sums[2][nodes], sums[1][nodes] / sums[2][nodes]
        return np.where(nodes == ROOT, np.nan, lon), np.where(nodes == ROOT, np.nan, lat)

    def square_kilometers(self, hierarchy: Hierarchy, nodes: IntArray) -> FloatArray:  # noqa: ARG002
        """Return the ellipsoidal size of the united shapes."""
        return square_kilometers(self._shapes(nodes))

    def sizes(self, hierarchy: Hierarchy, nodes: IntArray) -> FloatArray:
        """Return the ellipsoidal size of all zones of each node together, or raise if a zone has none."""
        sizes = np.zeros(len(hierarchy))
        sizes[self._leaf] = self._sizes_of_zones
        return hierarchy.add_up(sizes)[nodes]

    def settings(self) -> dict[str, Json]:
        """Return the hierarchy as typed; the zones themselves are in areas.parquet."""
        return {"grid": None, "hierarchy": self.typed_hierarchy}

    def report(self) -> list[str]:
        """Return what did not fit a tree in the columns."""
        return self._notes

    def hint_for(self, unknown: Sequence[str]) -> str | None:
        """Return a hint when unknown ids differ from known ones only by type or leading zeros."""
        known = {_bare(zone): zone for zone in self.table.ids}
        for zone in unknown:
            if (match := known.get(_bare(zone))) is not None:
                return f"zone {zone!r} of the trips looks like {match!r} of the zones: ids are compared as text"
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

    def _has_place(self) -> npt.NDArray[np.bool_]:
        known: npt.NDArray[np.bool_] = np.isfinite(self.table.lon) & np.isfinite(self.table.lat)
        return known

    def _ids_of(self, zones: IntArray) -> list[str]:
        return [self.table.ids[zone] for zone in zones.tolist()]

    def _members(self, node: int) -> IntArray:
        """Return the zones under a node, ascending."""
        leaves: list[IntArray] = []
        nodes = np.array([node], np.int64)
        while len(nodes):
            zones = self._zone_of_node[nodes]
            leaves.append(zones[zones >= 0])
            inner = nodes[zones < 0]
            spans = zip(self._tree.first_child[inner].tolist(), self._tree.end_child[inner].tolist(), strict=True)
            nodes = np.concatenate([np.arange(start, end) for start, end in spans] or [np.zeros(0, np.int64)])
        return np.sort(np.concatenate(leaves))

    def _shapes(self, nodes: IntArray) -> npt.NDArray[np.object_]:
        """Unite the shapes of the zones of each node; None for the root and where any zone has no shape."""
        shapes = np.full(len(nodes), None, object)
        for row, node in enumerate(nodes.tolist()):
            if node == ROOT:
                continue
            parts = self.table.geometry[self._members(node)]
            if not any(part is None for part in parts):
                shapes[row] = parts[0] if len(parts) == 1 else shapely.union_all(shapely.make_valid(parts))
        return shapes


def _bare(zone: str) -> str:
    return zone.strip().removesuffix(".0").lstrip("0").casefold()


def _dendrogram(table: ZoneTable) -> tuple[IntArray, list[str]]:
    """Join zones by Ward's criterion on their centroids in meters; node N is SciPy's: zones first, then merges."""
    count = len(table.ids)
    if count > _MOST_WARD_ZONES:
        raise InputError(
            f"a dendrogram of {count:,} zones would need {count * count * 4 / 1e9:.0f} GB",
            f"ward takes up to {_MOST_WARD_ZONES:,} zones; use columns of the table as hierarchy",
        )
    if not (np.isfinite(table.lon) & np.isfinite(table.lat)).all():
        raise InputError("a zone has no centroid", "ward needs lon and lat columns or a geometry for every zone")
    parent = np.full(max(2 * count - 1, count), -1, np.int64)
    if count > 1:
        from scipy.cluster.hierarchy import linkage  # noqa: PLC0415  slow to import

        merges = linkage(to_meters(table.lon, table.lat), method="ward")[:, :2].astype(np.int64)
        parent[merges.ravel()] = np.repeat(np.arange(count, 2 * count - 1), 2)
    names = [f"ward:{number}" for number in range(len(parent))]
    if count == 1:  # a lone zone still needs a root above it, which is never published as a place
        return np.array([1, -1]), [*names, "all"]
    return parent, names


def _column_tree(table: ZoneTable, columns: list[str]) -> tuple[IntArray, list[str], list[str]]:
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
    names += ["/".join(f"{c}={v}" for c, v in (path if path[-1] in twice else path[-1:])) for path in inner]
    return np.array([*parent, -1]), [*names, "all"], _tree_notes(table, columns, list(inner))


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
