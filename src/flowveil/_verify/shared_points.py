"""How many users share any few samples: every set of them is counted, by products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from scipy import sparse

    from flowveil._arrays import IntArray
    from flowveil._verify.trajectory_tables import Boxes


def check_shared_points(boxes: Boxes, k: int, known: int) -> None:
    """Check that every set of at most `known` published samples is in the trajectories of at least k users.

    Different samples have no point in common, so that a point is in one of them or in none: whoever knows so many
    points of one user finds no trajectory that holds all of them, or those of at least k users.
    """
    edges = np.stack([boxes.t0, boxes.t1, *boxes.lon, *boxes.lat])
    different, which = np.unique(edges, axis=1, return_inverse=True)
    _check_apart(different)
    place = np.stack([boxes.group, which.ravel()])
    if np.unique(place, axis=1).shape[1] != place.shape[1]:
        raise broken("a trajectory has a sample twice")
    from scipy import sparse  # noqa: PLC0415  slow to import, and only this check needs it

    held = sparse.csr_array((np.ones(place.shape[1], np.int64), tuple(place)))
    if (fewest := fewest_users(held, boxes.sizes, known)) < k:
        raise broken(f"{known} points or fewer fit the trajectories of only {fewest} users")


def fewest_users(held: sparse.csr_array, sizes: IntArray, known: int) -> int:
    """Return the least number of users who have all of a set of at most `known` samples that somebody has.

    held: one row a trajectory, one column a sample. The product of such a matrix with itself counts all pairs; for
    larger sets, it is taken among the trajectories that have each sample in turn.
    """
    if known == 1:
        sums: IntArray = sizes @ held
        return int(sums[sums > 0].min())
    if known == 2:
        counted = type(held)((sizes[held.tocoo().coords[0]], held.indices, held.indptr), held.shape)
        return int((held.T @ counted).tocsr().data.min())
    columns = held.tocsc()
    fewest = int(sizes.sum())
    for column in range(held.shape[1]):
        rows = columns.indices[columns.indptr[column] : columns.indptr[column + 1]]
        if not len(rows):
            continue
        fewest = min(fewest, fewest_users(held[rows][:, column:], sizes[rows], known - 1))
    return fewest


def _check_apart(edges: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    """Check that no two samples (t0, t1, west, east, south, north) overlap; they are sorted by t0."""
    for number in range(edges.shape[1] - 1):
        later = edges[:, number + 1 : np.searchsorted(edges[0], edges[1, number])]
        meet = np.ones(later.shape[1], np.bool_)
        for axis in (2, 4):
            meet &= (later[axis] < edges[axis + 1, number]) & (edges[axis, number] < later[axis + 1])
        if meet.any():
            raise broken("two different samples overlap")
