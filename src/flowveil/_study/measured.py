"""One method on one matrix, as rows: measured on trips, and on the people they stand for."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from flowveil._engine import FileSource
from flowveil._folder import scratch_folder
from flowveil._kinds import verify
from flowveil._problem import make_requirement
from flowveil._processes import peak_memory
from flowveil._release import anonymize
from flowveil._study.cells import DONE, flat
from flowveil._study.noisy import noisy_row

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._options import Keywords
    from flowveil._places import Hierarchy
    from flowveil._release import Release
    from flowveil._study.cells import Row

TRIPS, PEOPLE = "trips", "people"  # what is measured
_OF_PEOPLE = "population_"
PARTICIPANTS, POPULATION, BOTH = "participants", "population", "both"  # who is protected


def measure_flows(flows: Flows, job: Keywords, _: object) -> list[Row]:
    """Run one method.

    job: keywords of `anonymize`; whether to verify the release; the number of a matrix, which is then measured by
    itself (None: all of them in one release); and who is protected.
    """
    part = flows if job["matrix"] is None else _alone(flows, job["matrix"])
    keywords = job["keywords"]
    if "epsilon" in keywords:
        return [noisy_row(part, keywords, check=job["verify"])]
    asked = keywords | _protection(part, keywords, job["protected"])
    return _run(part, asked, keywords["k"], whole=job["matrix"] is None, check=job["verify"])


def _alone(flows: Flows, matrix: int) -> Flows:
    """Return one matrix as if there were no other: so rectangles are measured too, which cannot be released by time."""
    part = flows.part(matrix)
    story = replace(part.provenance, time=None, by=())
    return replace(part, matrices=pa.table({}), provenance=story)


def _protection(flows: Flows, keywords: Keywords, protected: str | None) -> Keywords:
    """Return what protects participants, the people they stand for (as many as k of the mean), or both."""
    if protected in (None, PARTICIPANTS):
        return {}
    mean = make_requirement(flows, keywords["k"], "auto").k_weight
    least = {"k_weight": math.ceil(cast("float", mean))}
    return least | ({"k": 1} if protected == POPULATION else {})


def _run(flows: Flows, keywords: Keywords, k: int, *, whole: bool, check: bool) -> list[Row]:
    start, spent = time.perf_counter(), time.process_time()
    release = anonymize(flows, **keywords)
    seconds, processor = time.perf_counter() - start, time.process_time() - spent
    memory = peak_memory()  # of the method: metrics and verification come after
    # Raw coordinates are those of all trips of the input.
    figures = flat(dict(release.metrics(k=None if keywords["k"] == k else k, raw=whole)))
    figures.pop("population", None)  # without weights it is nothing, else its parts are there
    people = {name.removeprefix(_OF_PEOPLE): value for name, value in figures.items() if name.startswith(_OF_PEOPLE)}
    promise = release.manifest["promise"]
    row: Row = {
        **{name: value for name, value in figures.items() if whole or not name.startswith(_OF_PEOPLE)},
        "status": DONE,
        "homogeneous": _homogeneous(release),
        "promise": f"{promise['kind']}, k {promise['k']}, by {promise['unit']}, {promise['areas']} areas",
        "verified": _verified(release) if check else None,
        "seconds": seconds,
        "processor_seconds": processor,
        "memory_mb": memory,
        "measured": TRIPS,
    }
    if row.get("min_weight") is not None and row.get("k_weight"):
        row["min_weight_share"] = cast("float", row["min_weight"]) / cast("float", row["k_weight"])
    return [row, row | people | {"measured": PEOPLE}] if people else [row]


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
