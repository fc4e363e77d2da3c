"""All attacks: one small module each, which takes a case and returns a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flowveil._folder import Kind
from flowveil._risk.dominance import find_dominance
from flowveil._risk.homogeneity import find_homogeneity
from flowveil._risk.repeats import find_repeats
from flowveil._risk.sensitive import find_sensitive

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
    Attack("repeats", "Does a flow tell how often one person traveled?", _FLOWS, find_repeats),
    Attack("dominance", "Does one person make up a flow?", _FLOWS, find_dominance, needs_truth=True),
    Attack("homogeneity", "Does everybody from a place go to the same place?", _FLOWS, find_homogeneity),
    Attack("sensitive", "Does a flow pin down a sensitive place?", _FLOWS, find_sensitive),
)  # fmt: skip
