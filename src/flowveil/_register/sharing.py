"""Whether releases have trips or persons in common, by their marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError
from flowveil._register.entries import NOISE, PATHS
from flowveil._register.periods import are_apart

if TYPE_CHECKING:
    from flowveil._arrays import KeyArray
    from flowveil._register.entries import Entry, NewEntry
    from flowveil._register.store import OpenRegister

HOW_TO_FORGET = "flowveil register FILE --forget N leaves out a release that was never published"


def share(one: KeyArray, other: KeyArray) -> bool:
    """Whether two releases have a mark in common; marks are sorted."""
    if not len(one) or not len(other):
        return False
    place = np.minimum(np.searchsorted(other, one), len(other) - 1)
    return bool((other[place] == one).any())


def check_persons(persons: KeyArray | None, others: KeyArray | None, entry: Entry) -> None:
    """Raise if a release may be of the same persons as one that it cannot be checked with; marks need no order."""
    if persons is not None and others is not None and not share(persons, np.sort(others)):
        return
    raise PromiseError(
        f"{entry.name} is of the same time and, as far as can be told, of some of the same persons: what paths tell "
        "together with other paths or flows cannot be checked",
        f"publish one of the two, or of another time. {HOW_TO_FORGET}",
    )


def check_paths(register: OpenRegister, new: NewEntry, persons: KeyArray) -> None:
    """Raise if trajectories cannot be published beside what a register knows."""
    for entry in register.entries():
        if entry.kind != NOISE and are_apart(new, entry) is None:
            stored = register.trips(entry)
            check_persons(persons, stored.mark if entry.kind == PATHS else stored.owner, entry)
