"""One method in a process of its own: reads a job from stdin, writes one JSON object to stdout."""

from __future__ import annotations

import json
import pickle
import sys
import time
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from flowveil._compare.noisy import noisy_row
from flowveil._compare.peak import peak_memory
from flowveil._engine import FileSource
from flowveil._errors import FlowveilError
from flowveil._folder import scratch_folder
from flowveil._kinds import verify
from flowveil._release import anonymize

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._compare.table import Row
    from flowveil._flows import Flows
    from flowveil._places import Hierarchy
    from flowveil._release import Release

_METRICS = ("gbar", "suppressed", "e", "d", "c_avg", "mao", "mad", "flows", "origin_areas", "destination_areas")


def main() -> None:
    """Run the job."""
    job: dict[str, Any] = pickle.load(sys.stdin.buffer)  # noqa: S301  the parent process wrote it
    flows: Flows = pickle.load(sys.stdin.buffer)  # noqa: S301
    run = noisy_row if "epsilon" in job["keywords"] else _run
    try:
        row = run(flows, job["keywords"], check=job["verify"])
    except FlowveilError as error:
        row = {"status": "failed", "note": error.message}
    except MemoryError:
        row = {"status": "failed", "note": "there is not enough memory"}
    sys.stdout.write(json.dumps(row) + "\n")


def _run(flows: Flows, keywords: dict[str, Any], *, check: bool) -> Row:
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


if __name__ == "__main__":
    main()
