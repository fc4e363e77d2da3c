"""All attacks: one small module each, which takes a case and returns a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flowveil._folder import Kind
from flowveil._risk.absence import find_absence
from flowveil._risk.dominance import find_dominance
from flowveil._risk.exact import find_exact
from flowveil._risk.homogeneity import find_homogeneity
from flowveil._risk.known_points import find_known_points
from flowveil._risk.membership import find_membership
from flowveil._risk.minimality import find_minimality
from flowveil._risk.recovery import find_recovery
from flowveil._risk.repeats import find_repeats
from flowveil._risk.sensitive import find_sensitive
from flowveil._risk.support import find_support
from flowveil._risk.unicity import find_unicity

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
    slow: bool = False  # it takes minutes, so that pages do not wait for it


_FLOWS = frozenset({Kind.FLOWS})
_PATHS = frozenset({Kind.TRAJECTORIES})

ATTACKS = (
    Attack("exact", "Which small groups follow from all that is published?", _FLOWS, find_exact),
    Attack("repeats", "Does a flow tell how often one person traveled?", _FLOWS, find_repeats),
    Attack("minimality", "Which flows were not divided because of a small part?", _FLOWS, find_minimality),
    Attack("unicity", "Do a few known trips single somebody out?", _FLOWS, find_unicity, needs_truth=True),
    Attack("recovery", "Can movements be followed from step to step?", _FLOWS, find_recovery, needs_truth=True),
    Attack("membership", "Can it be told that somebody is in the data?", _FLOWS, find_membership,
           needs_truth=True, slow=True),
    Attack("points", "Do a few known points single a path out?", _PATHS, find_known_points, needs_truth=True),
    Attack("support", "Is a place of a path that of one user?", _PATHS, find_support, needs_truth=True),
    Attack("absence", "Does a missing flow tell of a group, beside totals?", _FLOWS, find_absence),
    Attack("dominance", "Does one person make up a flow?", _FLOWS, find_dominance, needs_truth=True),
    Attack("homogeneity", "Does everybody from a place go to the same place?", _FLOWS, find_homogeneity),
    Attack("sensitive", "Does a flow pin down a sensitive place?", _FLOWS, find_sensitive),
)  # fmt: skip
QUICK = tuple(attack.name for attack in ATTACKS if not attack.slow)
