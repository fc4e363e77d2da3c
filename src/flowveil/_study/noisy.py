"""laplace as a row of a study: noise on all tiles that the trips could have, measured like any release."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil._folder import scratch_folder
from flowveil._kinds import verify
from flowveil._matrices import add_noise, matrix_of_flows
from flowveil._processes import peak_memory

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._matrices import Matrix, NoisyRelease
    from flowveil._options import Keywords
    from flowveil._study.cells import Row


def noisy_row(flows: Flows, keywords: Keywords, *, check: bool) -> Row:
    """Run laplace; more trips than there were count as a negative share left out."""
    if flows.people is not None:
        raise InputError("laplace is compared by trips: persons cannot be bounded any more", "leave out --unit")
    start, spent = time.perf_counter(), time.process_time()
    matrix = matrix_of_flows(flows)
    release = add_noise(matrix, keywords["method"], keywords["epsilon"], options=keywords["options"])
    seconds, processor, memory = time.perf_counter() - start, time.process_time() - spent, peak_memory()
    table = release.tables["flows.parquet"]
    return {
        **_errors(matrix, release.boxes),
        "status": "done",
        "flows": table.num_rows,
        "origin_areas": len(table["origin"].unique()),
        "destination_areas": len(table["destination"].unique()),
        "homogeneous": True,
        "promise": f"differential-privacy, epsilon {keywords['epsilon']:g}, by trip",
        "verified": _verified(release) if check else None,
        "seconds": seconds,
        "processor_seconds": processor,
        "memory_mb": memory,
        "measured": "trips",
    }


def _errors(matrix: Matrix, listed: Any) -> dict[str, float]:  # Any: what laplace lists
    """Return e, d and the share left out, over all pairs of tiles; a pair that is not listed has none."""
    width = matrix.points.lengths[1]
    cells = [matrix.points.cells, listed.cells]
    keys = [each[:, 0] * width + each[:, 1] for each in cells]
    both = np.unique(np.concatenate(keys))
    true, noisy = (
        _laid_out(both, key, counts) for key, counts in zip(keys, (matrix.points.counts, listed.counts), strict=True)
    )
    total, reported = true.sum(), noisy.sum()
    return {
        "e": float(np.abs(noisy - true).sum() / total),
        "d": float(np.abs(noisy / max(reported, 1) - true / total).sum()),
        "suppressed": float((total - reported) / total),
    }


def _laid_out(keys: IntArray, some: IntArray, counts: IntArray) -> FloatArray:
    values = np.zeros(len(keys))
    values[np.searchsorted(keys, some)] = counts
    return values


def _verified(release: NoisyRelease) -> bool:
    with scratch_folder() as place:
        verify(release.write(place / "out"))
    return True
