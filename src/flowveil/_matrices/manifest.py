"""What a release with noise promises, as data and in words."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from flowveil._folder import NOISE
from flowveil._matrices.methods import LAPLACE
from flowveil._matrices.streams import COUNTS
from flowveil._noise import WindowLedger
from flowveil._options import PERIODS, PERSON, TRIP, WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._folder import Description, Json, Kind, Manifest, Promise, Settings, Spending
    from flowveil._matrices.points import Matrix
    from flowveil._methods import Value
    from flowveil._noise import Ledger
    from flowveil._options import Protection

_ABSENCE = (
    "Every box is listed, empty or not: nothing is missing. A count is noisy, and a small one may stand for none."
)
_POSITIVE_ABSENCE = (
    "Noise was added to every pair of tiles, and those below one are not listed. A listed pair may have had no trips, "
    "and one that is not listed may have had some."
)
_REPEATED = (
    " Where `drawn` is an earlier step than `time`, counts are those of that step once more: not much had changed "
    "since, as far as noise lets one tell."
)
_PERSONS = (
    "Persons are those with a counted trip in the flow, with noise of the scale `persons_scale`; one person may count "
    "in several flows. "
)
_DIVIDED = (
    "Which steps of time and groups there are was chosen without the data, too, and all of them are published, with "
    "trips or without. "
)
_WHEN = dict(zip(PERIODS, ("on one day", "in one week", "in one month"), strict=True))
_LENGTH = re.compile(r"(\d+)?(\w+)")  # 15min, 1d, week
_UNITS = {"min": "minute", "h": "hour", "d": "day"}
_NEGATIVE = "they may be negative"
_POSITIVE = "those below one are not listed, so that sums over many pairs are too large"


def make_manifest(
    matrix: Matrix,
    method: str,
    unit: Ledger,
    ledgers: Sequence[Ledger | WindowLedger],
    typed: Mapping[str, Value],
    kind: Kind,
    description: Mapping[str, str],
    draws: list[dict[str, Json]] | None = None,
) -> Manifest:
    """Return the manifest; it holds what the user typed, and the budget, which depends on noisy counts only."""
    most = matrix.max_trips_per_person
    promise: Promise = {
        "kind": NOISE,
        "epsilon": unit.epsilon,
        "delta": 0,
        **protects(matrix),
        "neighbours": neighbors(matrix.protection),
        "max_trips_per_person": most if matrix.unit else None,
        "budget": budget(unit, ledgers[0], most),
    }
    if draws is not None:
        promise["draws"] = draws
    options = matrix.grid.settings() | matrix.layers.settings(matrix.timezone)
    if matrix.visits is not None:
        options["persons"] = True
    if typed:
        options["method_options"] = dict(typed)
    manifest: Manifest = {
        "format": kind.format,
        "software": f"flowveil {version('flowveil')}",
        "method": method,
        "options": cast("Settings", options),
        "promise": promise,
        "promise_text": promise_text(
            promise,
            description.get("unit_label"),
            positive_only=method == LAPLACE,
            divided=not matrix.layers.single,
            persons=matrix.visits is not None,
            clock=clock(matrix),
        ),
        "absence": absence(positive_only=method == LAPLACE, stream=draws is not None),
    }
    if description:
        manifest["description"] = cast("Description", dict(description))
    return manifest


def protects(matrix: Matrix) -> Promise:
    """Return what epsilon is for: the unit, and which of its trips."""
    return {"unit": matrix.unit or TRIP, "protects": matrix.protection.text}


def clock(matrix: Matrix) -> dict[str, str]:
    """Return what cuts the time in which a person is protected: a time zone if one was typed, and steps of a window."""
    if matrix.protection.name not in _WHEN and matrix.protection.name != WINDOW:
        return {}
    known = matrix.layers.settings(matrix.timezone)
    names = ("timezone", "time") if matrix.protection.name == WINDOW else ("timezone",)
    return {name: str(known[name]) for name in names if name in known}


def neighbors(protection: Protection) -> str:
    """Return what two inputs differ by that a release can hardly tell apart."""
    whose = "all trips of one person"
    if protection.name in _WHEN:
        return f"{whose} {_WHEN[protection.name]} added or removed"
    if protection.name == WINDOW:
        return f"{whose} in {protection.window} steps of time in a row added or removed"
    return f"one {protection.name} added or removed"


def budget(unit: Ledger, ledger: Ledger | WindowLedger, most: int) -> list[Spending]:
    """Return what a path spends before its count is published, in order, for a whole unit."""
    first = {spend.name: spend.epsilon for spend in unit.spends if spend.name != "trips"}
    if isinstance(ledger, WindowLedger):  # draws tell the rest
        spends = {spend.name: spend.epsilon * most for spend in ledger.spends if spend.name != COUNTS}
    else:
        spends = {spend.name: spend.epsilon * most for spend in ledger.spends if spend.name != "cells"}
    return [{"spend": name, "epsilon": epsilon} for name, epsilon in (first | spends).items()]


def absence(*, positive_only: bool, stream: bool) -> str:
    """Say what a missing or repeated count means."""
    if positive_only:
        return _POSITIVE_ABSENCE
    return _ABSENCE + (_REPEATED if stream else "")


def promise_text(
    promise: Promise,
    label: str | None = None,
    *,
    positive_only: bool = False,
    divided: bool = False,
    persons: bool = False,
    clock: Mapping[str, str] | None = None,
) -> str:
    """Say a promise in plain words.

    label: what the unit tells apart. positive_only: no counts below one are listed. divided: there are steps of time or
    groups. persons: persons are counted, too. clock: what cuts the time in which a person is protected.
    """
    return (
        f"{_who(promise, label)} {_when(promise, clock or {})}"
        "Counts are whole numbers with discrete Laplace noise of the scale stated beside each; "
        f"{_POSITIVE if positive_only else _NEGATIVE}. {_PERSONS if persons else ''}The region was chosen "
        f"without the data; the number of trips is not published but for the noisy counts. "
        f"{_DIVIDED if divided else ''}"
        "Every further release about the same people adds its own epsilon to this one."
    )


def _when(promise: Promise, clock: Mapping[str, str]) -> str:
    """Say how long a step of a window is, and whose clock cuts days, weeks, months or steps."""
    said = []
    if "time" in clock:
        number, unit = _LENGTH.fullmatch(clock["time"]).groups(default="1")  # type: ignore[union-attr]  # it was parsed
        name = _UNITS.get(unit, unit)
        said.append(f"A step of time is {'one' if number == '1' else number} {name}{'s' if number != '1' else ''}")
    if "timezone" in clock:
        cut = "steps" if "time" in clock else f"{promise['protects'].removeprefix('person-')}s"
        said.append(f"{cut if said else cut.capitalize()} begin by the clock of {clock['timezone']}")
    return f"{'; '.join(said)}. " if said else ""


def _who(promise: Promise, label: str | None) -> str:
    """Say whom a promise is about."""
    epsilon, most, unit = promise["epsilon"], promise["max_trips_per_person"], promise["unit"]
    changes = f"changes the probability of any release by a factor of at most exp({epsilon:g})."
    name, _, window = promise["protects"].partition(":")
    one = "person" if label is None else f"of the {label}"
    if name == TRIP:
        return (
            f"The presence or absence of any one trip {changes} One trip is protected, not a person: someone who made "
            "n trips is protected at n times that epsilon."
        )
    if name == PERSON:
        return (
            f"The presence or absence of any one {one} (a value of {unit}) {changes} At most {most} trips of each "
            f"{one} are counted, drawn at random from their trips."
        )
    when = f"in any {window} steps of time in a row" if window else _WHEN[name]
    span = "step of time" if window else name.removeprefix("person-")
    long = (
        f"Who travels for longer than {window} steps is protected in each such stretch, not over all of time"
        if window
        else f"Someone who travels in n {span}s is protected at n times that epsilon"
    )
    return (
        f"Whether or not the trips that any one {one} (a value of {unit}) made {when} are in the data {changes} At "
        f"most {most} trips of each {one} in each {span} are counted, drawn at random. {long}: habits that last may "
        "show."
    )
