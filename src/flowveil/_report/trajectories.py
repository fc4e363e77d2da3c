"""The scene and the figures of a release of trajectories: boxes, and moves from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._report.figures import Figure, distribution, middle, weighted_mean
from flowveil._report.flows import blur, floats, whole
from flowveil._report.scene import NOWHERE, Scene, Spans
from flowveil._report.words import users_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

_CORNERS = ("lon0", "lat0", "lon1", "lat1")
_MICROSECONDS_PER_HOUR = 3_600_000_000


def trajectories_scene(table: pa.Table) -> Scene:
    """Return every box once, and every sample: who is in which box, and when."""
    corners = np.column_stack([floats(table[name]) for name in _CORNERS])
    boxes, box = np.unique(corners, axis=0, return_inverse=True)
    return Scene(
        sides=("box",),
        names=[f"{west:.4f},{south:.4f} to {east:.4f},{north:.4f}" for west, south, east, north in boxes.tolist()],
        side=np.zeros(len(boxes), np.int64),
        lon=boxes[:, [0, 2]].mean(axis=1),
        lat=boxes[:, [1, 3]].mean(axis=1),
        tiles=None,
        shapes=np.asarray(shapely.box(*boxes.T), object),
        origin=box.ravel(),
        destination=np.full(table.num_rows, NOWHERE, np.int64),
        amounts={"users": whole(table["size"]), "seen": whole(table["support"])},
        spans=Spans(whole(table["group"]), *(whole(table[name].cast("int64")) for name in ("t0", "t1"))),
    )


def trajectories_figures(scene: Scene, table: pa.Table, manifest: Mapping[str, Json]) -> list[Figure]:
    """Return what can be counted."""
    sizes, samples = _groups(table)
    size = whole(table["size"]).astype(np.float64)
    support = whole(table["support"])
    extent, hours, users = _extent(scene, table), _hours(table), users_of(manifest)
    return [
        Figure("users", f"{users} in all groups" + _in_periods(manifest), int(sizes.sum())),
        Figure("groups", _groups_in_words(manifest), len(sizes)),
        Figure("samples", "published samples: a box and a span of time", table.num_rows),
        Figure("boxes", "different boxes", len(scene.names)),
        Figure("smallest_group", f"smallest group: fewest {users}", int(sizes.min()) if len(sizes) else None),
        Figure("largest_group", "largest group", int(sizes.max()) if len(sizes) else None),
        Figure("median_samples", "samples of a trajectory, median", middle(samples)),
        Figure(
            "support",
            f"{users} of a group who were seen in a sample, mean share",
            float(support.sum() / size.sum()) if len(size) else None,
        ),
        Figure("seen_by_one", f"samples in which one of the {users} was seen, and no other", int((support == 1).sum())),
        Figure("box_km2", f"km² of the box of a sample, mean over {users}", weighted_mean(extent, size)),
        Figure("hours", f"hours that a sample spans, mean over {users}", weighted_mean(hours, size)),
        *blur(scene),
    ]


def _groups_in_words(manifest: Mapping[str, Json]) -> str:
    if "known_points" in manifest["promise"]:
        return f"different trajectories, each of one of the {users_of(manifest)} or of several"
    return f"groups of at least {manifest['promise']['k']} {users_of(manifest)}, one trajectory each"


def trajectories_distributions(scene: Scene, table: pa.Table, manifest: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the distributions of group sizes, boxes and durations."""
    sizes, _ = _groups(table)
    charts = [
        distribution(
            "crowds",
            "How large the groups are",
            f"{users_of(manifest)} of a group",
            "groups",
            sizes,
            mark=None if "known_points" in manifest["promise"] else manifest["promise"]["k"],
        ),
        distribution(
            "support",
            "How many were seen in a sample",
            f"{users_of(manifest)} seen in a sample",
            "samples",
            whole(table["support"]),
        ),
        distribution("sizes", "How large the boxes are", "km² of a sample", "samples", _extent(scene, table)),
        distribution("durations", "How long the samples last", "hours of a sample", "samples", _hours(table)),
    ]
    return [part for part in charts if part["amounts"]]


def _in_periods(manifest: Mapping[str, Json]) -> str:
    """Return how often somebody is counted, where trajectories are cut into days or weeks."""
    period = manifest["promise"].get("cut_into")
    return "" if period is None else f", once for each {period} of theirs"


def _groups(table: pa.Table) -> tuple[IntArray, IntArray]:
    """Return users and samples of each group."""
    _, first, samples = np.unique(whole(table["group"]), return_index=True, return_counts=True)
    return whole(table["size"])[first], samples


def _extent(scene: Scene, table: pa.Table) -> FloatArray:
    corners = np.column_stack([floats(table[name]) for name in _CORNERS])
    _, box = np.unique(corners, axis=0, return_inverse=True)
    sizes: FloatArray = scene.sizes[box.ravel()]
    return sizes


def _hours(table: pa.Table) -> FloatArray:
    start, end = (whole(table[name].cast("int64")) for name in ("t0", "t1"))
    return (end - start) / _MICROSECONDS_PER_HOUR
