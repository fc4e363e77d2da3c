"""Cells that measure something else than flows: noise on range queries, trajectories, k-gaps, weekly profiles."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from flowveil._folder import scratch_folder
from flowveil._matrices import add_noise, answer_boxes, make_workload, mre
from flowveil._processes import peak_memory
from flowveil._release import anonymize
from flowveil._study.cells import DONE, flat
from flowveil._trajectories import anonymize as anonymize_paths
from flowveil._trajectories import baseline, evaluate, gap

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray
    from flowveil._flows import Flows
    from flowveil._matrices import Matrix
    from flowveil._options import Keywords
    from flowveil._places import Hierarchy
    from flowveil._study.cells import Row
    from flowveil._study.inputs import Samples

_QUARTILES = {"q1": 0.25, "median": 0.5, "p80": 0.8, "q3": 0.75}


def measure_noise(matrix: Matrix, job: Keywords, _: object) -> list[Row]:
    """Add noise some times, and return one row a workload: the mean over these of errors of range queries."""
    asked = [make_workload(matrix.points, size, place, job["queries"]) for size, place in job["workloads"]]
    errors: list[list[dict[str, Any]]] = []  # Any: figures of mre
    seconds, parts = [], 0
    for _run in range(job["runs"]):
        start = time.process_time()
        release = add_noise(matrix, job["method"], job["epsilon"])
        seconds.append(time.process_time() - start)
        boxes = cast("Any", release.boxes)  # Any: of a method of boxes
        errors.append([mre(workload, answer_boxes(workload, boxes)) for workload in asked])
        parts = len(boxes.counts)
    cost: Row = {"status": DONE, "seconds": min(seconds), "memory_mb": peak_memory(), "cells": parts}
    return [
        cost
        | {"workload": workload.name, "empty": errors[0][at]["empty"], "zero": errors[0][at]["zero"]}
        | {name: float(np.mean([run[at][name] for run in errors])) for name in ("mre", "mae")}
        for at, workload in enumerate(asked)
    ]


def measure_paths(samples: Samples, job: Keywords, _: object) -> list[Row]:
    """Publish trajectories, or run an older method, and return what became of samples."""
    data = samples.read()
    start, method, k = time.process_time(), job["method"], job["k"]
    if method in ("glove", "gather"):
        release = anonymize_paths(data, k, method=method, **job["options"])
        seconds = time.process_time() - start
        with scratch_folder() as place:
            lost = evaluate(release.write(place / "out"), samples.table)
        counts = lost.counts
        row: Row = flat(dict(counts)) | _spread("extent", lost.extent) | _spread("duration", lost.duration)
        row |= {f"within_{name}": float((lost.extent <= most).mean()) for name, most in job["extents"].items()}
        row |= {f"within_{name}": float((lost.duration <= most).mean()) for name, most in job["durations"].items()}
        for name, shares in lost.finer.items():
            row |= {
                f"all within {name}": float((shares >= 1).mean()),
                f"none within {name}": float((shares <= 0).mean()),
            }
        discarded, created, deleted = counts["users"] - counts["released_users"], 0.0, counts["suppressed"]
        errors = (lost.position_error, lost.time_error)
    else:
        older = baseline(data, method, k, **job["options"])
        seconds = time.process_time() - start
        row = {"users": older.users}
        discarded = older.discarded
        created, deleted = older.created / older.samples, older.deleted / older.samples
        errors = (older.position_error, older.time_error)
    row |= {"discarded": discarded, "created": created, "deleted": deleted}
    row |= {name: float(np.mean(some)) for name, some in zip(("position_error", "time_error"), errors, strict=True)}
    return [row | {"status": DONE, "seconds": seconds, "memory_mb": peak_memory()}]


def _spread(name: str, values: FloatArray) -> Row:
    quantiles: Row = {f"{name}_{part}": float(np.quantile(values, at)) for part, at in _QUARTILES.items()}
    return quantiles | {f"{name}_mean": float(values.mean())}


def measure_gap(samples: Samples, job: Keywords, _: object) -> list[Row]:
    """Return one row a k with the distribution of k-gaps, and one a generalization with who is 2-anonymous after it."""
    data = samples.read()
    start = time.process_time()
    ks = [k for k in job["k"] if k <= len(data)]
    measured = gap(data, ks, generalize=job["generalize"])
    cost: Row = {"status": DONE, "seconds": time.process_time() - start, "memory_mb": peak_memory()}
    rows = [
        cost | {"k": k, "generalized": "not", "anonymous": float((values == 0).mean())} | _spread("gap", values)
        for k, values in measured.gaps.items()
    ]
    return rows + [
        cost | {"k": 2, "generalized": name, "anonymous": float((values == 0).mean())} | _spread("gap", values)
        for name, values in measured.generalized.items()
    ]


def measure_profile(flows: Flows, job: Keywords, _: object) -> list[Row]:
    """Return trips of some pairs of tiles in each matrix, true and as a reader would reconstruct them."""
    keys = flows.origin * len(flows.destinations) + flows.destination
    pairs, which = np.unique(keys, return_inverse=True)
    by_size = pairs[np.argsort(-np.bincount(which, flows.trips), kind="stable")]
    ranks = [rank for rank in job["ranks"] if rank <= len(by_size)]
    ends = [divmod(int(by_size[rank - 1]), len(flows.destinations)) for rank in ranks]
    above = [(_above(flows.origins, one), _above(flows.destinations, two)) for one, two in ends]
    rows: list[Row] = []
    for matrix in range(flows.matrix_count):
        part = flows.part(matrix)
        release = anonymize(part, job["method"], job["k"], max_suppression=job["max_suppression"])
        published = release.published
        if published is None:
            continue
        size = flows.origins.tiles[published.origin] * flows.destinations.tiles[published.destination]
        density = published.trips / size
        own = part.origin * len(flows.destinations) + part.destination
        for rank, (one, two), (over, under) in zip(ranks, ends, above, strict=True):
            true = int(part.trips[own == one * len(flows.destinations) + two].sum())
            covers = np.isin(published.origin, over) & np.isin(published.destination, under)
            rows.append(
                {
                    "status": DONE,
                    "matrix": matrix,
                    "time": str(flows.matrices.column(0)[matrix].as_py()),
                    "pair": f"rank {rank}",
                    "true": float(true),
                    "reconstructed": float(density[covers].sum()),
                }
            )
    return rows


def _above(tree: Hierarchy, leaf: int) -> list[int]:
    """Return a leaf and all nodes above it."""
    nodes = [leaf]
    while tree.parent[nodes[-1]] >= 0:
        nodes.append(int(tree.parent[nodes[-1]]))
    return nodes
