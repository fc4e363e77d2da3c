"""All attacks: one small module each, which takes a case and returns a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flowveil._folder import Kind
from flowveil._risk.exact import find_exact
from flowveil._risk.repeats import find_repeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._risk.case import Case
    from flowveil._risk.finding import Finding


class Attack(NamedTuple):
    """An attack: what it is called, what it asks, which releases it is for, and whether it needs the true trips."""

    name: str
    question: str
    kinds: frozenset[Kind]
    run: Callable[[Case], Finding | None]  # None: it does not apply to this release
    needs_truth: bool = False


_FLOWS = frozenset({Kind.FLOWS})

ATTACKS = (
    Attack("exact", "Which small groups follow from all that is published?", _FLOWS, find_exact),
    Attack("repeats", "Does a flow tell how often one person traveled?", _FLOWS, find_repeats),
)  # fmt: skip
