"""Flows whose crowds were counted elsewhere: what may be asked of them, and their publishable cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import Crowds
from flowveil._problem.losses import LOSSES_OF_NODES, Batch, loss_function

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
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


def cells_of_crowds(problem: Problem, crowds: Crowds) -> tuple[IntArray, IntArray, FloatArray]:
    """Return matrix and nodes, trips, and loss of all cells, or raise if crowds do not tell the loss."""
    requirement, flows = problem.requirement, problem.flows
    if problem.loss not in LOSSES_OF_NODES:
        raise InputError(
            f"persons stayed on the cluster, which does not count the loss {problem.loss!r}",
            "use the loss tiles or area, or build the flows without k",
        )
    good = requirement.passes(
        crowds.measures, flows.origins.tiles[crowds.origin], flows.destinations.tiles[crowds.destination]
    )
    node = np.stack([crowds.matrix, crowds.origin, crowds.destination])[:, good]
    trips = crowds.measures.trips[good]
    nothing = np.zeros(0, np.int64)
    price = loss_function(problem, problem.axes)
    return node, trips, price(Batch(node[1:], trips, nothing, nothing, nothing, nothing, []))
