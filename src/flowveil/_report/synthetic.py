"""The scene and the figures of a release of synthetic trajectories: places, and moves from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._report.figures import Figure, distribution, middle
from flowveil._report.flows import blur, floats, whole
from flowveil._report.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil._folder import Json

_CORNERS = ("lon0", "lat0", "lon1", "lat1")


def synthetic_scene(samples: pa.Table, places: pa.Table) -> Scene:
    """Return every place, and how often synthetic users go from one to another."""
    corners = np.column_stack([floats(places[name]) for name in _CORNERS])
    moves, many = np.unique(_moves(samples), axis=0, return_counts=True)
    return Scene(
        sides=("place",),
        names=[f"{west:.4f},{south:.4f} to {east:.4f},{north:.4f}" for west, south, east, north in corners.tolist()],
        side=np.zeros(len(corners), np.int64),
        lon=corners[:, [0, 2]].mean(axis=1),
        lat=corners[:, [1, 3]].mean(axis=1),
        tiles=None,
        shapes=np.asarray(shapely.box(*corners.T), object),
        origin=moves[:, 0],
        destination=moves[:, 1],
        amounts={"trips": many.astype(np.int64)},
    )


def synthetic_figures(scene: Scene, samples: pa.Table, places: pa.Table, manifest: Mapping[str, Json]) -> list[Figure]:
    """Return what can be counted."""
    sizes = _sizes(samples)
    return [
        Figure("users", "synthetic users", len(sizes)),
        Figure("samples", "synthetic samples", samples.num_rows),
        Figure("median_samples", "samples of a user, median", middle(sizes)),
        Figure("moves", "moves of synthetic users from one place to another", int(scene.amounts["trips"].sum())),
        Figure("places", "places that the map is divided into", places.num_rows),
        Figure("epsilon", "epsilon: less is safer", manifest["promise"]["epsilon"]),
        Figure("stays_scale", "scale of the noise of the number of users who stay at a place", _first(places)),
        *blur(scene),
    ]


def synthetic_distributions(samples: pa.Table, places: pa.Table) -> list[dict[str, Json]]:
    """Return the distributions of samples and of stays."""
    charts = [
        distribution("samples", "How many samples users have", "samples of a user", "users", _sizes(samples)),
        distribution(
            "stays",
            "How many stay at a place",
            "users who stay, with noise",
            "places",
            whole(places["stays"]),
            below=True,
        ),
    ]
    return [part for part in charts if part["amounts"]]


def _first(places: pa.Table) -> float | None:
    scales = floats(places["scale"])
    return float(scales[0]) if len(scales) else None


def _sizes(samples: pa.Table) -> IntArray:
    return np.unique(whole(samples["user"]), return_counts=True)[1].astype(np.int64)


def _moves(samples: pa.Table) -> IntArray:
    """Return from which place to which other one each step of a synthetic user goes."""
    user, place = whole(samples["user"]), whole(samples["place"])
    moved = (np.diff(user) == 0) & (np.diff(place) != 0)
    return np.column_stack([place[:-1][moved], place[1:][moved]])
