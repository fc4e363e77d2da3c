"""The scene and the figures of a release of boxes with noise: rectangles of a grid over a public box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._report.figures import Figure, distribution, middle
from flowveil._report.flows import blur, error, floats, laplace_deviation, whole
from flowveil._report.scene import NOWHERE, Scene

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json


def cells_scene(cells: pa.Table, manifest: Mapping[str, Json]) -> Scene:
    """Return the rectangles of the first and the last place of a trip, and noisy counts between them."""
    options = manifest["options"]
    places = options["places"]
    chosen = sorted({0, len(places) - 1})
    ends: list[IntArray] = []
    sides: list[IntArray] = []
    rectangles: list[IntArray] = []
    for side, place in enumerate(chosen):
        columns = [f"{edge}_{axis}" for axis in (2 * place, 2 * place + 1) for edge in ("low", "high")]
        edges = np.column_stack([whole(cells[name]) for name in columns])
        distinct, row = np.unique(edges, axis=0, return_inverse=True)
        ends.append(row.ravel() + sum(len(known) for known in rectangles))
        rectangles.append(distinct)
        sides.append(np.full(len(distinct), side))
    every = np.concatenate(rectangles)
    corners = _degrees(every, options)
    pairs = np.column_stack([ends[0], ends[-1] if len(ends) > 1 else np.full(cells.num_rows, NOWHERE)])
    between, group = np.unique(pairs, axis=0, return_inverse=True)
    counts = np.bincount(group.ravel(), whole(cells["count"]), len(between))
    variance = np.bincount(group.ravel(), laplace_deviation(floats(cells["scale"])) ** 2, len(between))
    return Scene(
        sides=tuple(places[place] for place in chosen),
        names=[f"{west}:{east}/{south}:{north}" for west, east, south, north in every.tolist()],
        side=np.concatenate(sides),
        lon=corners[:, [0, 2]].mean(axis=1),
        lat=corners[:, [1, 3]].mean(axis=1),
        tiles=(every[:, 1] - every[:, 0]) * (every[:, 3] - every[:, 2]),
        shapes=np.asarray(shapely.box(*corners.T), object),
        origin=between[:, 0],
        destination=between[:, 1],
        amounts={"trips": np.rint(counts).astype(np.int64)},
        deviation=np.sqrt(variance),
    )


def cells_figures(
    scene: Scene, cells: pa.Table, marginals: pa.Table | None, manifest: Mapping[str, Json]
) -> list[Figure]:
    """Return what can be counted."""
    counts = whole(cells["count"])
    return [
        Figure("trips", "trips in all, with noise", int(counts.sum())),
        Figure("boxes", "boxes, each with a noisy count", len(counts)),
        *(
            Figure(f"{name}_areas", f"different rectangles of the {name}", int((scene.side == side).sum()))
            for side, name in enumerate(scene.sides)
        ),
        *_marginal_figures(marginals),
        Figure("epsilon", "epsilon: less is safer", manifest["promise"]["epsilon"]),
        Figure("negative", "counts that the noise made negative", int((counts < 0).sum())),
        Figure("median_scale", "scale of the noise, median", middle(floats(cells["scale"]))),
        *error(scene),
        *blur(scene),
    ]


def _marginal_figures(marginals: pa.Table | None) -> list[Figure]:
    if marginals is None:
        return []
    return [
        Figure("marginals", "smaller boxes of single places, which tell how counts lie in boxes", marginals.num_rows)
    ]


def cells_distributions(cells: pa.Table) -> list[dict[str, Json]]:
    """Return the distributions of counts and of noise."""
    counts = whole(cells["count"])
    charts = [
        distribution("counts", "How large the counts are", "noisy trips of a box", "boxes", counts, below=True),
        distribution(
            "scales", "How much noise there is", "scale of the noise of a box", "boxes", floats(cells["scale"])
        ),
    ]
    return [part for part in charts if part["amounts"]]


def _degrees(edges: IntArray, options: Mapping[str, Json]) -> FloatArray:
    """Return west, south, east, north of boxes in cells."""
    west, south, east, north = options["bbox"]
    across, up = (east - west) / options["cells"], (north - south) / options["cells"]
    return np.column_stack(
        [
            west + edges[:, 0] * across,
            south + edges[:, 2] * up,
            west + edges[:, 1] * across,
            south + edges[:, 3] * up,
        ]
    )
