"""Habits: the chances that a model implies, from noisy counts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.estimates import fit, follow, lower, shares, smooth
from flowveil._synthesis.parts import distance_class

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray
    from flowveil._synthesis.model import Model

_WHOLE = ("sizes", "active", "days", "hours", "homes", "works", "distinct", "roles")  # to which a user adds all units
_LINES = ("sizes", "days", "hours")  # in which neighbors are alike


@dataclass(frozen=True, eq=False)
class Habits:
    """Chances, each row adding up to one."""

    users: int
    sizes: FloatArray
    active: FloatArray  # by octave of samples
    days: FloatArray
    hours: FloatArray  # by kind of day
    ends: FloatArray  # home by work; not a row each, but all together
    jobless: float
    favorites: FloatArray  # by home
    moves: FloatArray  # by place
    distinct: FloatArray  # by octave of samples
    ranks: FloatArray
    roles: FloatArray  # by slot
    usual: FloatArray  # roles over all slots
    steps: FloatArray  # by role and gap


def make_habits(model: Model) -> Habits:
    """Return the chances that a model implies."""
    users = max(0.0, float(model.users("users")[0, 0]))
    counts = {part: _counts(model, part, users) for part in model.counts}
    classes = distance_class(model.places.distances())
    homes, works, visits = (counts[part][:, 0] for part in ("homes", "works", "visits"))
    ends = fit(homes, works[:-1], classes, counts["commutes"][:, 0])
    ends = follow(ends, model.block, model.users("pairs"), model.noise("pairs"))
    seen = homes + works[:-1] + visits
    favorites = fit(homes, visits, classes, counts["reach"][:, 0], apart=True)
    moves = fit(seen, seen, classes, counts["jumps"][:, 0], apart=True)
    moves = follow(moves, model.block, model.users("moves"), model.noise("moves"))
    return Habits(
        users=round(users),
        sizes=shares(counts["sizes"].T)[0],
        active=shares(counts["active"], model.noise("active")),
        days=shares(counts["days"].T)[0],
        hours=shares(counts["hours"], model.noise("hours")),
        ends=shares(ends.reshape(1, -1)).reshape(ends.shape),
        jobless=float(works[-1] / works.sum()) if works.sum() > 0 else 1.0,
        favorites=shares(favorites),
        moves=shares(moves),
        distinct=shares(counts["distinct"], model.noise("distinct")),
        ranks=shares(counts["ranks"].T)[0],
        roles=shares(counts["roles"], model.noise("roles")),
        usual=shares(counts["roles"].sum(axis=0, keepdims=True))[0],
        steps=shares(counts["steps"], model.noise("steps")),
    )


def _counts(model: Model, part: str, users: float) -> FloatArray:
    """Return counts without negative ones, with the total that the users have, or at most that."""
    seen = np.asarray(model.users(part), np.float64)
    if part in _LINES:
        seen = np.stack([smooth(line, model.noise(part)) for line in (seen if part == "hours" else seen.T)])
        seen = seen if part == "hours" else seen.T
    total = users if part in _WHOLE else min(max(float(seen.sum()), 0.0), users)
    return lower(seen, total)
