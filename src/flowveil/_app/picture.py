"""A release as the page draws it: places, outlines, flows and the land around them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._folder import TOTAL, key_columns
from flowveil._report import land
from flowveil._trajectories import TrajectoryRelease

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa
    from shapely.geometry.base import BaseGeometry

    from flowveil._folder import Json
    from flowveil._matrices import NoisyRelease
    from flowveil._release import Release

_MOST_FLOWS = 30_000  # drawn; the strongest. What is published is in the download
_FINE = 2_000  # outlines are drawn to this part of the extent
_AROUND = 1.5  # how far land goes beyond the extent, in extents
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NINETEEN_OF_TWENTY = math.log(20)  # scales of Laplace noise that 19 of 20 draws stay within
_SMALLEST = 0.05  # degrees: extent of a release that is one point


def picture(release: Release | NoisyRelease | TrajectoryRelease) -> dict[str, Json]:
    """Return a release for the map; it is computed from the release alone."""
    drawn = _paths_picture(release) if isinstance(release, TrajectoryRelease) else _flows_picture(release)
    geometry = np.array([area.pop("geometry") for area in drawn["areas"]], object)
    extent = _extent(geometry, drawn["areas"])
    tolerance = max(extent[2] - extent[0], extent[3] - extent[1]) / _FINE
    west, south, east, north = _widened(extent)
    for area, shape in zip(drawn["areas"], geometry, strict=True):
        area["shape"] = _rings(shape, tolerance)
    return drawn | {"extent": extent, "land": land(west, south, east, north, step=(east - west) / _FINE)}


def _flows_picture(release: Release | NoisyRelease) -> dict[str, Json]:
    areas = {row["area"]: row for row in release.areas.drop_columns("geometry").to_pylist()}
    number = {area: place for place, area in enumerate(areas)}
    shapes = dict(zip(release.areas["area"].to_pylist(), release.areas["geometry"].to_pylist(), strict=True))
    geometry = shapely.from_wkb(np.array([shapes[area] for area in areas], object))
    noisy = release.manifest["promise"]["kind"] == "differential-privacy"
    trips = release.flows["trips"].to_numpy()
    shown = np.argsort(-trips, kind="stable")[: min(_MOST_FLOWS, int((trips > 0).sum()))]
    flows = release.flows.take(shown)
    labels = _labels(flows, key_columns(flows, release.manifest), str(release.manifest["options"].get("time")))
    divisions = {label: place for place, label in enumerate(sorted(set(labels or [])))}
    error = np.ceil(flows["scale"].to_numpy() * _NINETEEN_OF_TWENTY).astype(int).tolist() if noisy else None
    return {
        "areas": [
            {"id": area, "lon": row["lon"], "lat": row["lat"], "tiles": row["tiles"], "geometry": shape}
            for (area, row), shape in zip(areas.items(), geometry, strict=True)
        ],
        "origin": [number[area] for area in flows["origin"].to_pylist()],
        "destination": [number[area] for area in flows["destination"].to_pylist()],
        "trips": flows["trips"].to_pylist(),
        "persons": flows["persons"].to_pylist() if "persons" in flows.column_names else None,
        "error": error,
        "division": None if labels is None else [divisions[label] for label in labels],
        "divisions": list(divisions),
        "totals": sorted(
            {divisions[label] for label, total in zip(labels or [], _totals(flows, release), strict=False) if total}
        ),
        "flows": release.flows.num_rows,
    }


def _totals(flows: pa.Table, release: Release | NoisyRelease) -> list[bool]:
    """Return which flows count all groups together: they may not be added to those of the groups."""
    by = release.manifest["options"].get("by")
    if not by or not release.manifest["promise"].get("totals"):
        return [False] * flows.num_rows
    return [value == TOTAL for value in flows[by[0]].to_pylist()]


def _paths_picture(release: TrajectoryRelease) -> dict[str, Json]:
    """Return for each group where its path begins and ends; all of its path is in the report."""
    rows = release.trajectories.sort_by([("group", "ascending"), ("t0", "ascending")])
    group = rows["group"].to_numpy()
    first = np.flatnonzero(np.diff(group, prepend=-1))
    last = np.append(first[1:], len(group)) - 1
    corners = np.column_stack([rows[name].to_numpy() for name in ("lon0", "lat0", "lon1", "lat1")])
    ends = np.concatenate([corners[first], corners[last]])
    boxes, place = np.unique(ends, axis=0, return_inverse=True) if len(ends) else (ends, np.zeros(0, int))
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    sizes = rows["size"].to_numpy()[first]
    order = np.argsort(-sizes, kind="stable")[:_MOST_FLOWS]
    outlines = shapely.box(*boxes.T) if len(boxes) else np.empty(0, object)
    return {
        "areas": [
            {"id": f"{lat:.4f}, {lon:.4f}", "lon": lon, "lat": lat, "tiles": None, "geometry": shape}
            for (lon, lat), shape in zip(middle.tolist(), outlines, strict=True)
        ],
        "origin": place[: len(first)][order].tolist(),
        "destination": place[len(first) :][order].tolist(),
        "trips": sizes[order].tolist(),
        "persons": None,
        "error": None,
        "division": None,
        "divisions": [],
        "totals": [],
        "flows": len(first),
    }


def _labels(flows: pa.Table, columns: list[str], steps: str) -> list[str] | None:
    """Return for each flow which step of time and which group it is of; None where a release is not divided."""
    if not columns:
        return None
    parts = [[_label(name, value, steps) for value in flows[name].to_pylist()] for name in columns]
    return [", ".join(each) for each in zip(*parts, strict=True)]


def _label(name: str, value: object, steps: str) -> str:
    if name != "time":
        return f"{name} {'unknown' if value is None else value}"
    if steps == "hour-of-week" and isinstance(value, int):
        return f"{value // 24 + 1} {_DAYS[value // 24]} {value % 24:02}:00"  # the number puts days in order
    return (
        f"{value:02}:00"
        if isinstance(value, int)
        else f"{value:%Y-%m-%d %H:%M}"
        if hasattr(value, "hour")
        else str(value)
    )


def _extent(geometry: npt.NDArray[np.object_], areas: list[dict[str, Json]]) -> list[float]:
    """Return west, south, east, north of all that has a place; the world if nothing has."""
    points = [(row["lon"], row["lat"]) for row in areas if row["lon"] is not None]
    bounds = shapely.total_bounds(geometry)
    corners = [bounds[:2], bounds[2:]] if np.isfinite(bounds).all() else []
    every = np.array([*points, *corners], float)
    if not len(every):
        return [-180.0, -60.0, 180.0, 75.0]
    west, south = every.min(axis=0)
    east, north = every.max(axis=0)
    wide, high = max(_SMALLEST - (east - west), 0) / 2, max(_SMALLEST - (north - south), 0) / 2
    return [float(west - wide), float(south - high), float(east + wide), float(north + high)]


def _widened(extent: list[float]) -> tuple[float, float, float, float]:
    west, south, east, north = extent
    reach = _AROUND * max(east - west, north - south)
    return max(west - reach, -180.0), max(south - reach, -85.0), min(east + reach, 180.0), min(north + reach, 85.0)


def _rings(shape: BaseGeometry | None, tolerance: float) -> list[list[list[list[float]]]]:
    """Return the polygons of a shape as rings of points, no finer than the eye."""
    if shape is None or shape.is_empty:
        return []
    plain = shapely.simplify(shape, tolerance) if shapely.get_num_coordinates(shape) > 50 else shape
    return [
        [np.asarray(ring.coords)[:, :2].round(6).tolist() for ring in (part.exterior, *part.interiors)]
        for part in shapely.get_parts(plain)
        if isinstance(part, shapely.Polygon) and not part.is_empty
    ]
