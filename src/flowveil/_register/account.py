"""The account of epsilon: what releases with noise have spent of the same persons, and what they may."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from flowveil._errors import PromiseError
from flowveil._register.entries import NOISE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._folder import Json
    from flowveil._register.entries import Entry
    from flowveil._register.store import OpenRegister

_WHOLE = ("person", "trip")  # all of a unit


def spent(entries: Sequence[Entry]) -> Fraction:
    """Return the sum of epsilons, exactly: as they were typed."""
    return sum((Fraction(repr(entry.epsilon)) for entry in entries if entry.epsilon is not None), Fraction(0))


def protected(promise: Mapping[str, Json]) -> str:
    """Return what the epsilon of a promise is for: a trip, a person, or their trips of some time."""
    unit, protects = str(promise.get("unit")), str(promise.get("protects", _WHOLE[0]))
    steps = f" of {promise['time']}" if "time" in promise else ""
    clock = f" by the clock of {promise['timezone']}" if "timezone" in promise else ""
    return unit if protects in _WHOLE else f"{unit} ({protects}{steps}{clock})"


def check_account(register: OpenRegister, epsilon: float, promise: Mapping[str, Json]) -> None:
    """Raise if a release with noise would spend more than all together may, or protects something else than before.

    Sums are right whatever the releases are of: of the same trips, of other months of the same persons, or of others,
    where less would do. What two releases protect must be the same: an epsilon for each day of a person is not one for
    all their days, nor one for windows of another length; and days that begin at another hour are other days.
    """
    unit = protected(promise)
    entries = [entry for entry in register.entries() if entry.kind == NOISE]
    for entry in entries:
        other = protected(entry.promise)
        if other != unit:
            raise PromiseError(
                f"{entry.name} protects each {other}, this one each {unit}: their epsilons do not add up",
                "protect the same unit, or keep another register",
            )
    before = spent(entries)
    budget = register.budget
    if budget is not None and before + Fraction(repr(epsilon)) > Fraction(repr(budget)):
        told = ", ".join(f"{entry.epsilon:g} by {entry.name}" for entry in entries)
        raise PromiseError(
            f"epsilon {epsilon:g} is more than is left: {float(before):g} of the budget of {budget:g} is spent"
            + (f" ({told})" if told else ""),
            f"spend at most {max(float(Fraction(repr(budget)) - before), 0):g}, or publish nothing more of this source",
        )
