"""Flows whose crowds were counted elsewhere: what may be asked of them, and their publishable cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import Crowds
from flowveil._problem.losses import LOSSES_OF_NODES, Batch, loss_function
from flowveil._problem.search import Cells

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._problem.problem import Problem
    from flowveil._problem.requirement import Requirement


def check_crowds(flows: Flows, requirement: Requirement) -> None:
    """Raise if less is asked than crowds were counted for: smaller ones are not known."""
    crowds = flows.people
    if isinstance(crowds, Crowds) and (requirement.k < crowds.k or requirement.least_weight < crowds.least_weight):
        raise InputError(
            "persons stayed on the cluster, which counted larger crowds only than are asked for here",
            "build the flows with the k and k_weight that releases will ask for",
        )


def cells_of_crowds(problem: Problem, crowds: Crowds) -> tuple[IntArray, Cells]:
    """Return all matrices, as sheets, and all cells; or raise if crowds do not tell the loss."""
    requirement, flows = problem.requirement, problem.flows
    if problem.loss not in LOSSES_OF_NODES:
        raise InputError(
            f"persons stayed on the cluster, which does not count the loss {problem.loss!r}",
            "use the loss tiles or area, or build the flows without k",
        )
    good = requirement.passes(
        crowds.measures, flows.origins.tiles[crowds.origin], flows.destinations.tiles[crowds.destination]
    )
    kept = np.flatnonzero(good)
    kept = kept[np.lexsort((crowds.destination[kept], crowds.origin[kept], crowds.matrix[kept]))]
    origin, destination, trips = crowds.origin[kept], crowds.destination[kept], crowds.measures.trips[kept]
    nothing = np.zeros(0, np.int64)
    loss = loss_function(problem)(Batch(np.stack([origin, destination]), trips, nothing, nothing, nothing, nothing, []))
    if (barred := problem.bars(origin, destination)) is not None:
        loss[barred] = np.inf
    edges = np.searchsorted(crowds.matrix[kept], np.arange(flows.matrix_count + 1))
    return np.arange(flows.matrix_count)[None, :], Cells(
        edges, origin.astype(np.int32), destination.astype(np.int32), trips, loss
    )
