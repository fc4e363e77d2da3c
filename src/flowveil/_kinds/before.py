"""Before and after on the same tiles: true trips, and what a reader of the release would put there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._folder import SIDES, key_columns
from flowveil._places import NodeAreas
from flowveil._reconstruct import evened
from flowveil._report import NOWHERE, Scene, floats

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray
    from flowveil._flows import Flows
    from flowveil._folder import Json
    from flowveil._places import AreaTable
    from flowveil._release import Release

_MOST_TILES = 6_000  # of each side, the busiest


def before_and_after(flows: Flows, release: Release) -> dict[str, Json] | None:
    """Return tiles with their true trips and the published ones spread evenly; None where tiles have no outline."""
    keys = key_columns(release.flows, release.manifest)
    if "remainders" in release.manifest["promise"]:
        release = replace(release, flows=evened(release.flows, release.areas, keys))
    parts = [_side(flows, release, number) for number in range(2)]
    described = [part[0] for part in parts]
    shapes = np.concatenate([table.geometry for table in described])
    if all(shape is None for shape in shapes):
        return None
    count = len(shapes)
    scene = Scene(
        sides=SIDES,
        names=[name for table in described for name in table.area],
        side=np.repeat(np.arange(2), [len(table.area) for table in described]),
        lon=np.concatenate([table.lon for table in described]),
        lat=np.concatenate([table.lat for table in described]),
        tiles=None,
        shapes=shapes,
        origin=np.arange(count),
        destination=np.full(count, NOWHERE),
        amounts={
            "before": np.concatenate([part[1] for part in parts]).astype(np.int64),
            "after": np.rint(np.concatenate([part[2] for part in parts])).astype(np.int64),
        },
    )
    return scene.as_json()


def _side(flows: Flows, release: Release, number: int) -> tuple[AreaTable, FloatArray, FloatArray]:
    """Return the busiest tiles of one side, their true trips, and what spreading the release evenly gives them."""
    tree, leaf = (flows.origins, flows.origin) if number == 0 else (flows.destinations, flows.destination)
    true = np.zeros(len(tree))
    np.add.at(true, leaf, flows.trips.astype(np.float64))
    busiest = np.argsort(-true, kind="stable")[:_MOST_TILES]
    nodes = np.sort(busiest[true[busiest] > 0])
    tiles = NodeAreas(flows.places, tree).describe(nodes)
    return tiles, true[nodes], _spread(tiles, release, SIDES[number])


def _spread(tiles: AreaTable, release: Release, side: str) -> FloatArray:
    """Give every tile its share, by size, of the trips of all areas around it."""
    areas = release.areas.filter(np.array(release.areas["side"].to_pylist()) == side)
    row = {name: number for number, name in enumerate(areas["area"].to_pylist())}
    trips = np.zeros(len(row))
    np.add.at(trips, [row[name] for name in release.flows[side].to_pylist()], floats(release.flows["trips"]))
    shapes = shapely.from_wkb(areas["geometry"].to_pylist())
    # Sizes in square degrees will do: they are compared within one area only.
    density = trips / np.where(shapely.area(shapes) > 0, shapely.area(shapes), np.inf)
    centers = np.asarray(shapely.points(np.nan_to_num(tiles.lon), np.nan_to_num(tiles.lat)), object)
    area, tile = shapely.STRtree(centers).query(shapes, predicate="intersects")
    densities = np.zeros(len(tiles.area))
    np.add.at(densities, tile, density[area])
    spread: FloatArray = np.maximum(densities, 0) * _sizes(tiles.geometry)
    return spread


def _sizes(shapes: npt.NDArray[np.object_]) -> FloatArray:
    sizes: FloatArray = np.nan_to_num(shapely.area(shapes))
    return sizes
