"""Reconciling the noisy counts of all depths of a tree: what a parent counted and what its children count agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._noise import variance
from flowveil._places import depths

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._noise import Ledger


def reconcile(ledger: Ledger, leaves: IntArray) -> FloatArray:
    """Return the best linear estimate of each leaf's count from all noisy counts of the run.

    It uses nothing but what noise has protected already, so it costs nothing. From the leaves up, the counts of a node
    and of its children are weighed by their variances; from the root down, what is left over is shared out in
    proportion to the variances (Hay et al. 2010, for uneven trees and budgets).
    """
    parent = ledger.parents
    precision, weighted = np.zeros(len(parent)), np.zeros(len(parent))
    for nodes, noisy, parts in ledger.measured:
        weight = 1 / variance(ledger.scales(parts))
        precision[nodes] += weight
        weighted[nodes] += weight * noisy
    depth = depths(parent)
    below, spread = np.zeros(len(parent)), np.zeros(len(parent))  # sums over children: estimates and variances
    estimate, uncertain = np.zeros(len(parent)), np.zeros(len(parent))
    levels = [np.flatnonzero(depth == level) for level in range(int(depth.max()) + 1)]
    for nodes in reversed(levels):
        inner = spread[nodes] > 0
        more = np.divide(1.0, spread[nodes], out=np.zeros(len(nodes)), where=inner)
        total = precision[nodes] + more
        estimate[nodes] = (weighted[nodes] + more * below[nodes]) / total
        uncertain[nodes] = 1 / total
        held = nodes[parent[nodes] >= 0]
        np.add.at(below, parent[held], estimate[held])
        np.add.at(spread, parent[held], uncertain[held])
    final = estimate.copy()
    for nodes in levels[1:]:
        above = parent[nodes]
        final[nodes] += (final[above] - below[above]) * uncertain[nodes] / spread[above]
    estimates: FloatArray = final[leaves]
    return estimates
