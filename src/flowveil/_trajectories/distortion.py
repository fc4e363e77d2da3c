"""What the papers on Never Walk Alone and Wait for Me measure, for every method alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._arrays import FloatArray
    from flowveil._trajectories.figures import Distortion


def distortion(moved: FloatArray, removed: int, crowds: Iterable[int], trash: int) -> Distortion:
    """Return translation distortion, Omega, information distortion and discernibility.

    moved: how far each kept sample was moved, in meters; removed: samples that were not kept; crowds: users of each
    cluster; trash: users in none.

    Omega is the largest translation of the run. Information distortion adds up the translations of samples that are
    kept, and Omega for each that is not. Discernibility is the square of each cluster's users, and for each user in the
    trash the number of all users.
    """
    sizes = list(crowds)
    users = sum(sizes) + trash
    total, omega = float(moved.sum()), float(moved.max(initial=0.0))
    return {
        "translation": total,
        "omega": omega,
        "information": total + omega * removed,
        "information_mean": (total + omega * removed) / max(len(moved) + removed, 1),
        "discernibility": sum(size**2 for size in sizes) + trash * users,
    }
