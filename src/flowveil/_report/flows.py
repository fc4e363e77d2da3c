"""The scene and the figures of a release of flows, with noise or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._arrays import filled, texts
from flowveil._folder import ELSEWHERE, NOISE, REMAINDER, SIDES, key_columns, most_error
from flowveil._places import meters_between
from flowveil._remainders import even
from flowveil._report.figures import Figure, distribution, middle, weighted_mean
from flowveil._report.findings import ERROR
from flowveil._report.hours import amounts_of
from flowveil._report.keys import AMOUNTS, find_keys
from flowveil._report.reach import mean_reach
from flowveil._report.scene import NOWHERE, Scene, Spread, significant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._arrays import BoolArray, ChunkedColumn, FloatArray, IntArray
    from flowveil._folder import Json


_ERROR_MEANING = "trips that noise adds or takes at most, in 95 of 100 cases"
NAME = "name"  # column of areas: what people call them


def flows_scene(flows: pa.Table, areas: pa.Table, manifest: Mapping[str, Json]) -> Scene:
    """Return the areas and flows of a release."""
    names, sides = texts(areas["area"]), texts(areas["side"])
    number = {(name, side): row for row, (name, side) in enumerate(zip(names, sides, strict=True))}
    ends = [np.array([number[name, side] for name in texts(flows[side])], np.int64) for side in SIDES]
    shapes = [None if text is None else shapely.from_wkb(text) for text in areas["geometry"].to_pylist()]
    outlines = np.empty(len(shapes), object)
    outlines[:] = shapes
    return Scene(
        sides=SIDES,
        names=names,
        side=np.array([SIDES.index(side) for side in sides], np.int64),
        lon=floats(areas["lon"]),
        lat=floats(areas["lat"]),
        tiles=filled(areas["tiles"], -1),
        shapes=outlines,
        origin=ends[0],
        destination=ends[1],
        amounts={name: whole(flows[name]) for name in AMOUNTS if name in flows.column_names},
        keys=find_keys(flows, manifest),
        remainder=np.array(flows[REMAINDER].to_pylist(), bool) if "remainders" in manifest["promise"] else None,
        spread=_spread_remainders(flows, areas, manifest, ends) if "remainders" in manifest["promise"] else None,
        labels=_labels(areas),
        deviation=_deviation(flows, manifest["promise"]),
    )


def _spread_remainders(flows: pa.Table, areas: pa.Table, manifest: Mapping[str, Json], ends: list[IntArray]) -> Spread:
    """Return what a reader adds to remainders, and takes out again where finer flows are."""
    trips, outer, inner, less = even(flows, areas, key_columns(flows, manifest))
    more = trips - flows["trips"].to_numpy()
    scaled = np.flatnonzero(more)
    rows = np.concatenate([scaled, inner])
    return Spread(np.concatenate([scaled, outer]), ends[0][rows], ends[1][rows], np.concatenate([more[scaled], less]))


def _deviation(flows: pa.Table, promise: Mapping[str, Json]) -> FloatArray | None:
    """Return how far numbers may be off, as a standard deviation: that of noise, or what shows the bound as an error.

    How far rounded and changed numbers are off is known: pages show an error of ERROR deviations.
    """
    if promise["kind"] == NOISE:
        return laplace_deviation(floats(flows["scale"]))
    error = most_error(promise)
    return np.full(flows.num_rows, error / ERROR) if error else None


def laplace_deviation(scale: FloatArray) -> FloatArray:
    """Return the standard deviation of Laplace noise of a scale."""
    deviation: FloatArray = np.sqrt(2.0) * scale
    return deviation


def _labels(areas: pa.Table) -> list[str] | None:
    """Return what people call the areas; None where the release does not say."""
    if NAME not in areas.column_names:
        return None
    return told_apart(texts(areas[NAME]), texts(areas["area"]))


def told_apart(names: list[str], areas: list[str]) -> list[str]:
    """Return names, ids where there are none; those that several areas share are numbered in the order of the areas."""
    told = [name or area for name, area in zip(names, areas, strict=True)]
    sharing: dict[str, dict[str, int]] = {}  # by name: the number of each area
    for name, area in zip(told, areas, strict=True):
        numbers = sharing.setdefault(name, {})
        numbers.setdefault(area, len(numbers) + 1)
    return [
        name if len(sharing[name]) == 1 else f"{name} #{sharing[name][area]}"
        for name, area in zip(told, areas, strict=True)
    ]


def floats(column: ChunkedColumn) -> FloatArray:
    """Return a column as numbers, NaN for null."""
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def whole(column: ChunkedColumn) -> IntArray:
    """Return a column as whole numbers."""
    return np.asarray(column.to_numpy(), np.int64)


def _exactness(promise: Mapping[str, Json]) -> str:
    """Say how numbers differ from true ones."""
    if "rounding" in promise:
        return f", rounded to {promise['rounding']}s"
    return f", changed by up to {promise['cell_key']}" if "cell_key" in promise else ""


def flows_figures(scene: Scene, manifest: Mapping[str, Json]) -> list[Figure]:
    """Return what can be counted in a release of flows without noise."""
    scene = scene.without_totals()
    trips, persons = scene.amounts["trips"], scene.amounts.get("persons")
    rest = _touches(scene, ELSEWHERE)
    told = _exactness(manifest["promise"])
    figures = [
        Figure("trips", f"published trips{told}", int(trips.sum())),
        Figure("flows", "published flows", len(trips)),
        *_area_counts(scene),
        Figure("smallest_trips", f"fewest trips of a flow{told}", _least(trips)),
        Figure("median_trips", f"trips of a flow, median{told}", middle(trips)),
    ]
    if persons is not None:
        unit = _unit(manifest)
        figures += [
            Figure("smallest_persons", f"smallest crowd: fewest different {unit} of a flow{told}", _least(persons)),
            Figure("median_persons", f"crowd of a flow, median: different {unit}{told}", middle(persons)),
        ]
    if "weight" in scene.amounts:
        figures.append(
            Figure("weight", f"people represented, summed over trips{told}", int(scene.amounts["weight"].sum()))
        )
    if rest.any():
        figures.append(Figure("elsewhere_trips", f"of these to or from elsewhere{told}", int(trips[rest].sum())))
    if scene.remainder is not None:
        others = scene.remainder
        figures += [
            Figure("remainders", "of the flows: all other trips, after finer flows inside", int(others.sum())),
            Figure("remainder_trips", f"trips in these{told}", int(trips[others].sum())),
        ]
    figures[2:2] = [
        Figure(f"{key.name}_values", f"different values of {key.name}", len(np.unique(key.position)))
        for key in scene.keys
    ]
    return [*figures, *_spread(scene)]


def noisy_figures(scene: Scene, flows: pa.Table, manifest: Mapping[str, Json]) -> list[Figure]:
    """Return what can be counted in a release of flows with noise."""
    trips = scene.amounts["trips"]
    return [
        Figure("trips", "trips in all, with noise", int(trips.sum())),
        Figure("flows", "pairs of areas, each with a noisy count", len(trips)),
        *_area_counts(scene),
        Figure("epsilon", "epsilon: less is safer", manifest["promise"]["epsilon"]),
        Figure("negative", "counts that the noise made negative", int((trips < 0).sum())),
        Figure("median_scale", "scale of the noise, median", middle(floats(flows["scale"]))),
        *(error(scene) if "drawn" not in flows.column_names else _repeated_error(scene, flows, manifest)),
        *blur(scene),
    ]


def _repeated_error(scene: Scene, flows: pa.Table, manifest: Mapping[str, Json]) -> list[Figure]:
    """Return the same for a stream: counts that are repeated carry the same noise, which does not cancel."""
    noise = np.zeros(0) if scene.deviation is None else scene.deviation
    names = (*SIDES, "drawn", *manifest["options"].get("by", ()))
    sums: dict[tuple[object, ...], float] = {}
    for row, deviation in zip(zip(*(flows[name].to_pylist() for name in names), strict=True), noise, strict=True):
        sums[row] = sums.get(row, 0.0) + float(deviation)
    total = significant(ERROR * float(np.sqrt(sum(each**2 for each in sums.values()))))
    return [Figure("error", _ERROR_MEANING, total)]


def flows_distributions(scene: Scene, manifest: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the distributions of crowds, sizes and distances."""
    scene = scene.without_totals()
    promise, trips = manifest["promise"], scene.amounts["trips"]
    charts = []
    if promise["kind"] == "k-anonymity":
        counted = "persons" if "persons" in scene.amounts else "trips"
        charts.append(
            distribution(
                "crowds",
                "How large the crowds are",
                f"{counted} of a flow" if counted == "trips" else f"different {_unit(manifest)} of a flow",
                "flows",
                scene.amounts[counted],
                mark=promise["k"],
            )
        )
    else:
        charts.append(
            distribution("counts", "How large the counts are", "noisy trips of a flow", "flows", trips, below=True)
        )
    both = (scene.sizes[scene.origin] + scene.sizes[scene.destination]) / 2
    charts.append(
        distribution("sizes", "How large the areas are", "km², mean of both ends", "trips", both, np.maximum(trips, 0))
    )
    return [part for part in charts if part["amounts"]]


def _unit(manifest: Mapping[str, Json]) -> str:
    """Return what crowds are made of: as the publisher calls it, else the column."""
    return str(manifest.get("description", {}).get("unit_label") or manifest["promise"]["unit"])


def by_key(scene: Scene) -> list[dict[str, Json]]:
    """Return trips and flows of every value of every key, without totals."""
    scene = scene.without_totals()
    tables = []
    for key in scene.keys:
        values, trips = amounts_of(key, scene.volume)
        _, flows = amounts_of(key, np.ones(len(scene.volume), np.int64))
        kept = [number for number in range(len(values)) if number != key.total]
        table: dict[str, Json] = {"key": key.name, "values": [values[number] for number in kept]}
        tables.append(table | {name: _numbers(sums[kept]) for name, sums in (("trips", trips), ("flows", flows))})
    return tables


def _numbers(values: FloatArray) -> list[float | None]:
    """Return sums as they are, and what was spread over time with a few digits."""
    return [int(value) if value.is_integer() else significant(value) for value in values.tolist()]


def _area_counts(scene: Scene) -> list[Figure]:
    return [
        Figure(f"{name}_areas", f"areas used as {name}s", int((scene.side == number).sum()))
        for number, name in enumerate(scene.sides)
    ]


def _spread(scene: Scene) -> list[Figure]:
    trips = scene.volume.astype(np.float64)
    ends = [(scene.lon[end], scene.lat[end]) for end in (scene.origin, scene.destination)]
    between = meters_between(*ends[0], *ends[1]) / 1000
    return [
        Figure("origin_km2", "km² of the origin area of a trip, mean", weighted_mean(scene.sizes[scene.origin], trips)),
        Figure(
            "destination_km2",
            "km² of the destination area of a trip, mean",
            weighted_mean(scene.sizes[scene.destination], trips),
        ),
        Figure("kilometers", "km between the centers of both areas of a trip, mean", weighted_mean(between, trips)),
        *blur(scene),
    ]


def blur(scene: Scene) -> list[Figure]:
    """Return how far a place in an area is from its middle: a mean over all ends of trips that have an outline."""
    reached = scene.destination != NOWHERE
    ends = np.concatenate([scene.origin, scene.destination[reached]])
    trips = np.maximum(np.concatenate([scene.volume, scene.volume[reached]]), 0).astype(np.float64)
    meters = mean_reach(scene.shapes, scene.lon, scene.lat, scene.sizes)[ends]
    known = 1.0 if not trips.sum() else float(trips[np.isfinite(meters)].sum() / trips.sum())
    but = "" if known == 1 else f" (of the {100 * known:.0f} % of ends that have an outline)"
    meaning = f"m from the middle of an area to a place in it, mean{but}"
    return [Figure("blur_meters", meaning, weighted_mean(meters, trips))]


def error(scene: Scene) -> list[Figure]:
    """Return by how much noise may have changed the sum of all."""
    noise = np.zeros(0) if scene.deviation is None else scene.deviation
    total = significant(ERROR * float(np.sqrt((noise**2).sum())))
    return [Figure("error", _ERROR_MEANING, total)]


def _touches(scene: Scene, name: str) -> BoolArray:
    named = np.array([other == name for other in scene.names], bool)
    return np.asarray(named[scene.origin] | named[scene.destination], bool)


def _least(values: IntArray) -> int | None:
    return int(values.min()) if len(values) else None
