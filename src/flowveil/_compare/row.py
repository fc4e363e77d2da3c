"""One method as a row of a comparison."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

import numpy as np

from flowveil._compare.noisy import noisy_row
from flowveil._engine import FileSource
from flowveil._folder import scratch_folder
from flowveil._kinds import verify
from flowveil._processes import peak_memory
from flowveil._release import anonymize

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._compare.table import Row
    from flowveil._flows import Flows
    from flowveil._options import Keywords
    from flowveil._places import Hierarchy
    from flowveil._release import Release

_METRICS = ("gbar", "suppressed", "e", "d", "c_avg", "mao", "mad", "flows", "origin_areas", "destination_areas")


def method_row(flows: Flows, job: Keywords, _: object) -> Row:
    """Run one method; job: keywords of `anonymize`, and whether to verify the release."""
    run = noisy_row if "epsilon" in job["keywords"] else _run
    return run(flows, job["keywords"], check=job["verify"])


def _run(flows: Flows, keywords: Keywords, *, check: bool) -> Row:
    start = time.perf_counter()
    release = anonymize(flows, **keywords)
    seconds = time.perf_counter() - start
    memory = peak_memory()  # of the method: metrics and verification come after
    figures = release.metrics()
    promise = release.manifest["promise"]
    what = f"{promise['kind']}, k {promise['k']}, by {promise['unit']}, {promise['areas']} areas"
    return {
        **cast("Row", {name: value for name, value in figures.items() if name in _METRICS}),
        "status": "done",
        "gdm_mean": None if figures["gdm"] is None else figures["gdm"]["mean"],
        "homogeneous": _homogeneous(release),
        "promise": what,
        "verified": _verified(release) if check else None,
        "seconds": seconds,
        "memory_mb": memory,
    }


def _homogeneous(release: Release) -> bool:
    """Whether the areas of each end are one map: none lies in another."""
    flows, published = release.source, release.published
    if flows is None or published is None or published.areas is not None:
        return False
    return _is_map(flows.origins, published.origin) and _is_map(flows.destinations, published.destination)


def _is_map(tree: Hierarchy, nodes: IntArray) -> bool:
    areas = np.unique(nodes)
    above = tree.parent[areas]
    return bool((tree.area_of(areas)[above[above >= 0]] < 0).all())


def _verified(release: Release) -> bool:
    """Write the release to a folder that only this process sees, and check it against the files of its trips."""
    flows = release.source
    if flows is None or not isinstance(flows.provenance.source, FileSource):
        return False
    with scratch_folder() as place:
        folder = release.write(place / "out")
        verify(folder, list(flows.provenance.source.paths))
    return True
