"""Known points: which published trajectories fit a few raw points of a user, and how surely that is the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._risk.finding import BREAKS, HOLDS, TELLS, Finding
from flowveil._risk.support import find_owners, read_samples
from flowveil._trajectories import read_release

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._engine import Samples
    from flowveil._risk.case import Case
    from flowveil._trajectories import TrajectoryRelease

_POINTS = (1, 2, 3, 4, 6)  # that an attacker knows
_MOST_USERS = 10_000  # who are attacked; more are sampled
_SEED = 0
_BELIEFS = ("belief", "belief_most", "belief_drawn", "belief_drawn_most", "above")
_LEAST_CHANCE = 1e-6  # that a point was left out: with none, a single wrong point would rule everybody out


def find_known_points(case: Case) -> Finding:
    """Draw points of every user, count the users whose trajectories hold all, and weigh those that hold some."""
    release = read_release(case.folder)
    samples = read_samples(case, release)
    promise = release.manifest["promise"]
    k, promised = promise["k"], promise.get("known_points", _POINTS[-1])
    owner, home = find_owners(samples, release)
    drawn = _draw(samples, owner, len(home), release.manifest["options"]["bbox"])
    kept, lost = (int(release.members[name].to_numpy().sum()) for name in ("kept", "suppressed"))
    chance = max(lost / max(kept + lost, 1), _LEAST_CHANCE)
    figures = {str(count): _attack(release, drawn, count, home, chance, k) for count in {*_POINTS, promised}}
    few = sum(int(figures[key]["few"]) for key in figures if int(key) <= promised)
    most = max((figures[key]["belief_most"] for key in figures if int(key) <= promised), default=0.0)
    alone = max((figures[key]["one"] for key in figures), default=0.0)
    surest, above = (
        max((figures[key][name] for key in figures if int(key) <= promised), default=0.0)
        for name in ("belief_drawn_most", "above")
    )
    broken = few or most > 1 / k + 1e-9
    worst = max(figures, key=int)
    told = (
        f"Whoever knows up to {promised} points of somebody finds trajectories of "
        f"{'fewer than' if few else 'at least'} {k} users that fit, or none; weighing all that fit in part, the surest "
        f"belief in the right one is {most:.0%}. "
        f"With {worst} points {figures[worst]['one']:.0%} of users are the only one who fits, and the mean belief in "
        f"the right one is {figures[worst]['belief']:.0%}."
    )
    if above:
        told += (
            " Whoever takes trajectories of few samples for likelier, as if the points were drawn from them, believes "
            f"in the right one with more than 1/{k} for up to {above:.1%} of users, and with {surest:.0%} at most."
        )
    return Finding(
        "points",
        few,
        f"users whom 1 to {k - 1} fit, given at most {promised} of their points",
        BREAKS if broken else TELLS if alone or above else HOLDS,
        told,
        "The promise does not hold: do not publish."
        if broken
        else f"More than {promised} known points are not protected against: raise --known-points, or merge whole paths."
        if alone
        else "Trajectories with few samples stand out among those that hold the same points: merge whole paths."
        if above
        else "",
        {"points": sorted(map(int, figures)), "k": k, "suppressed": chance, "seed": _SEED},
        {"by_points": dict(sorted(figures.items(), key=lambda item: int(item[0])))},
        private=True,
    )


def _draw(samples: Samples, owner: IntArray, owners: int, box: list[float]) -> list[tuple[int, FloatArray]]:
    """Return users (or their days or weeks, where trajectories are cut), and points (time, lon, lat) of each."""
    random = np.random.default_rng(_SEED)
    west, south, east, north = box
    inside = (west <= samples.lon) & (samples.lon <= east) & (south <= samples.lat) & (samples.lat <= north)
    order = np.argsort(owner, kind="stable")
    order = order[inside[order]]
    edges = np.searchsorted(owner[order], np.arange(owners + 1))
    drawn = []
    for user in np.sort(random.permutation(owners)[:_MOST_USERS]).tolist():
        rows = random.permutation(order[edges[user] : edges[user + 1]])[: _POINTS[-1]]
        drawn.append((user, np.column_stack([samples.time[rows], samples.lon[rows], samples.lat[rows]])))
    return drawn


def _attack(
    release: TrajectoryRelease,
    drawn: list[tuple[int, FloatArray]],
    count: int,
    home: IntArray,
    chance: float,
    k: int,
) -> dict[str, float]:
    """Return what `count` points of each user tell: shares of users by how many fit, and beliefs in the right one.

    The attacker takes everybody for equally likely, and a point for left out with `chance`, whoever's it is: a
    trajectory that holds j of n points is believed in as (1 - chance)^j * chance^(n - j), a user as one of its users.
    Another one takes those who hold the most, and the points for drawn from their samples: the fewer a trajectory has,
    the likelier it is.
    """
    from flowveil._risk.fitting import count_fitting  # noqa: PLC0415  numba is slow to import

    known = [(user, points[:count]) for user, points in drawn if len(points) >= count]
    if not known:
        return dict.fromkeys(("users", "few", "one", "fewer_than_k", "none", *_BELIEFS), 0.0)
    own = home[[user for user, _ in known]]
    fitting, held, drawn_from = count_fitting(np.stack([points for _, points in known]), *_boxes(release), own)
    full = fitting[:, count]
    likely = (1 - chance) ** np.arange(count + 1) * chance ** np.arange(count, -1, -1)
    belief = np.where(own >= 0, likely[held] / (fitting @ likely), 0.0)
    return {
        "users": len(known),
        "few": int(((full > 0) & (full < k)).sum()),
        "one": float((full == 1).mean()),
        "fewer_than_k": float(((full > 0) & (full < k)).mean()),
        "none": float((full == 0).mean()),
        "belief": float(belief.mean()),
        "belief_most": float(belief.max()),
        "belief_drawn": float(drawn_from.mean()),
        "belief_drawn_most": float(drawn_from.max()),
        "above": float((drawn_from > 1 / k + 1e-9).mean()),
    }


def _boxes(release: TrajectoryRelease) -> tuple[FloatArray, IntArray, IntArray]:
    """Return published samples, where groups begin and end, and their sizes."""
    table = release.trajectories
    times = [table[name].cast(pa.int64()).to_numpy() for name in ("t0", "t1")]
    corners = [table[name].to_numpy() for name in ("lon0", "lon1", "lat0", "lat1")]
    boxes = np.stack([*times, *corners]).astype(np.float64)
    group = table["group"].to_numpy()
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return boxes, np.append(first, len(group)), table["size"].to_numpy()[first].astype(np.int64)
