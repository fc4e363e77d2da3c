"""Older methods, to compare with: their results are measured, never released.

W4M and NWA move samples, W4M also invents some, and their promise, (k, delta)-anonymity, does not keep members from
being told apart (Trujillo-Rasua and Domingo-Ferrer).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._options import parse_users
from flowveil._trajectories.baseline_options import BaselineOptions, parse_baseline_options
from flowveil._trajectories.clusters import cluster, resample
from flowveil._trajectories.distortion import distortion
from flowveil._trajectories.figures import BASELINE_UNITS, quantiles
from flowveil._trajectories.grid import SPACE_LIMIT, TIME_LIMIT
from flowveil._trajectories.read import check_trajectories

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._trajectories.figures import BaselineFigures
    from flowveil._trajectories.read import Trajectories

# Meters a minute, at which space and time weigh the same as in Eq. 1.
_SPEED = SPACE_LIMIT / TIME_LIMIT
_SAME_MINUTES = 30.0  # samples in the disc and within half an hour are the same for the edit distance


@dataclass(frozen=True, eq=False)
class Baseline:
    """What a method did to the samples. Private.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> fv.trajectories.baseline(data, "nwa", 2).method
    'nwa'
    """

    method: str
    k: int
    users: int
    samples: int
    clusters: list[IntArray]  # ranks, the pivot first
    discarded: int  # users
    created: int  # samples
    deleted: int  # samples of users who were kept
    position_error: FloatArray  # meters, of samples that were kept
    time_error: FloatArray  # minutes

    def figures(self) -> BaselineFigures:
        """Return the row of the paper's table 2.

        >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
        >>> fv.trajectories.baseline(data, "nwa", 2).figures()["users"]
        20
        """
        return {
            "method": self.method,
            "k": self.k,
            "users": self.users,
            "discarded_users": self.discarded,
            "samples": self.samples,
            "created": self.created,
            "deleted": self.deleted,
            "position_error": quantiles(self.position_error),
            "time_error": quantiles(self.time_error),
            "distortion": distortion(
                self.position_error,
                self.samples - len(self.position_error),
                map(len, self.clusters),
                self.discarded,
            ),
            "units": BASELINE_UNITS,
        }


def baseline(
    trajectories: Trajectories,
    method: str,
    k: int,
    *,
    delta: str | None = None,
    radius: str | None = None,
    max_trash: float | None = None,
    chunk: int | None = None,
    granularity: str | None = None,
    seed: int | None = None,
) -> Baseline:
    """Run W4M (linear distance, chunks), NWA (equal time spans, no change of times) or TGA (log cost of alignments).

    trajectories: what `read_trajectories` returns. method: "w4m", "nwa" or "tga". k: the fewest users of a cluster.
    Of w4m and nwa, delta: diameter of the disc that members are moved into, by default "2km"; radius: the first one of
    clusters, "1km"; max_trash: largest share of trajectories in no cluster, 0.1. chunk (w4m): trajectories that are
    clustered at once, 2000. granularity (nwa): where trajectories may begin and end, "1d". seed (tga): of random users.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> older = fv.trajectories.baseline(data, "nwa", 2)
    >>> older.created, older.discarded
    (0, 2)
    """
    check_trajectories(trajectories)
    asked = parse_baseline_options(
        method,
        delta=delta,
        radius=radius,
        max_trash=max_trash,
        chunk=chunk,
        granularity=granularity,
        seed=seed,
    )
    _check_reading(trajectories, method)
    k = parse_users(k)
    if len(trajectories) < k:
        raise PromiseError(
            f"there are only {len(trajectories)} users, fewer than k = {k}", "give more users, or lower k"
        )
    if method == "tga":
        return _generalize(trajectories, k, asked.seed)
    grid = trajectories.grid
    points = np.column_stack(
        [trajectories.t * grid.minutes, trajectories.x * grid.meters, trajectories.y * grid.meters]
    )
    users = np.split(points.astype(np.float64), trajectories.start[1:-1])
    clusters, spans = _wait_for_me(users, k, asked) if method == "w4m" else _never_walk_alone(users, k, asked)
    edit = _edit_to_pivot if method == "w4m" else _move_to_pivot
    places, moments, created, deleted = [], [], 0, 0
    for members in clusters:
        pivot = users[members[0]]
        for user in members.tolist():
            first, last = spans[user]
            kept = users[user][(users[user][:, 0] >= first) & (users[user][:, 0] <= last)]
            place, moment, new = edit(kept, pivot, asked.delta / 2)
            places.append(place)
            moments.append(moment)
            created += new
            deleted += len(users[user]) - len(place)
    return Baseline(
        method=method,
        k=k,
        users=len(users),
        samples=len(points),
        clusters=clusters,
        discarded=len(users) - sum(map(len, clusters)),
        created=created,
        deleted=deleted,
        position_error=np.concatenate([np.empty(0), *places]),
        time_error=np.concatenate([np.empty(0), *moments]),
    )


def _check_reading(trajectories: Trajectories, method: str) -> None:
    """Raise where trajectories were read with something that a method would not look at."""
    grid = trajectories.grid
    if grid.weights != (1, 1):
        raise InputError("weights were given, but older methods have none", "leave out --weights")
    if method != "tga" and grid.caps != (SPACE_LIMIT, TIME_LIMIT):
        raise InputError(f"caps were given, but {method} has none", "leave out --caps, or take --method tga")
    if trajectories.cut_into is not None:
        raise InputError("older methods are measured on whole trajectories", "leave out cut_into")


def _wait_for_me(
    users: list[FloatArray], k: int, asked: BaselineOptions
) -> tuple[list[IntArray], list[tuple[float, float]]]:
    """Cluster chunks of users in the order of their first samples; the trash of a chunk joins the next."""
    spans = [(float(points[0, 0]), float(points[-1, 0])) for points in users]
    shapes = np.stack([resample(points, *span) for points, span in zip(users, spans, strict=True)])
    order = np.argsort([span[0] for span in spans], kind="stable")
    clusters: list[IntArray] = []
    trash = np.empty(0, np.int64)
    for first in range(0, len(order), asked.chunk):
        chunk = np.concatenate([trash, order[first : first + asked.chunk]])
        made, left = cluster(shapes[chunk], k, _SPEED, asked.radius, asked.max_trash)
        clusters += [chunk[members] for members in made]
        trash = chunk[left]
    return clusters, spans


def _never_walk_alone(
    users: list[FloatArray], k: int, asked: BaselineOptions
) -> tuple[list[IntArray], list[tuple[float, float]]]:
    """Cut trajectories to whole days, or other multiples of time, then cluster those of the same days."""
    step = asked.granularity
    spans = [(float(-(-points[0, 0] // step) * step), float(points[-1, 0] // step * step)) for points in users]
    classes: dict[tuple[float, float], list[int]] = {}
    for user, span in enumerate(spans):
        if span[0] < span[1]:
            classes.setdefault(span, []).append(user)
    clusters = []
    for span, members in sorted(classes.items()):
        shapes = np.stack([resample(users[user], *span) for user in members])
        made, _ = cluster(shapes, k, 0.0, asked.radius, asked.max_trash)
        clusters += [np.array(members)[chosen] for chosen in made]
    return clusters, spans


def _edit_to_pivot(points: FloatArray, pivot: FloatArray, disc: float) -> tuple[FloatArray, FloatArray, int]:
    """Align with the pivot; return how far matched samples move in space and time, and how many are created."""
    from flowveil._trajectories.edits import align  # noqa: PLC0415  numba is slow to import

    match = align(points, pivot, disc, _SAME_MINUTES)
    kept, to = points[match >= 0], pivot[match[match >= 0]]
    away = np.hypot(*(kept[:, 1:] - to[:, 1:]).T)
    return np.maximum(away - disc, 0), np.abs(kept[:, 0] - to[:, 0]), len(pivot) - len(kept)


def _move_to_pivot(points: FloatArray, pivot: FloatArray, disc: float) -> tuple[FloatArray, FloatArray, int]:
    """Move every sample into the disc around where the pivot is at that moment."""
    at = np.column_stack([np.interp(points[:, 0], pivot[:, 0], pivot[:, axis]) for axis in (1, 2)])
    away = np.hypot(*(points[:, 1:] - at).T)
    return np.maximum(away - disc, 0), np.zeros(len(points)), 0


def _generalize(trajectories: Trajectories, k: int, seed: int) -> Baseline:
    """Run TGA; errors are distances from kept samples to the middles of the boxes that hold them."""
    from flowveil._trajectories.tga import group_users  # noqa: PLC0415  numba is slow to import

    grid = trajectories.grid
    corners = np.repeat(np.stack([trajectories.t, trajectories.x, trajectories.y]), 2, axis=0)
    corners[1::2] += 1
    users = [np.ascontiguousarray(part) for part in np.split(corners, trajectories.start[1:-1], axis=1)]
    groups = group_users(users, k, (grid.space_limit, grid.time_limit), seed)
    places, moments, deleted = [], [], 0
    for members, boxes in groups:
        for user in members.tolist():
            own = users[user]
            home = _first_holding(boxes, own)
            kept, box = own[:, home >= 0], boxes[:, home[home >= 0]]
            apart = (kept[::2] + kept[1::2] - box[::2] - box[1::2]) / 2
            places.append(np.hypot(apart[1], apart[2]) * grid.meters)
            moments.append(np.abs(apart[0]) * grid.minutes)
            deleted += own.shape[1] - kept.shape[1]
    return Baseline(
        method="tga",
        k=k,
        users=len(users),
        samples=corners.shape[1],
        clusters=[members for members, _ in groups],
        discarded=len(users) - sum(len(members) for members, _ in groups),
        created=0,
        deleted=deleted,
        position_error=np.concatenate([np.empty(0), *places]),
        time_error=np.concatenate([np.empty(0), *moments]),
    )


def _first_holding(boxes: IntArray, samples: IntArray) -> IntArray:
    """Return for each sample the first box that holds it, or -1."""
    inside = (boxes[::2, None, :] <= samples[::2, :, None]) & (samples[1::2, :, None] <= boxes[1::2, None, :])
    held: BoolArray = np.asarray(inside.all(axis=0), bool)
    if not boxes.shape[1]:
        return np.full(samples.shape[1], -1)
    return np.where(held.any(axis=1), held.argmax(axis=1), -1)
