"""What a missing flow tells of a group, next to flows of all groups together.

A reader makes two kinds of claims of a group that has no flow somewhere.
- "rest": all have 18 persons there, and neither men nor women have a flow. Each has at most 9 at k = 10, so each has 9.
- "missing": men have a flow, women have none, and there is no total. It was held back because of 1 to 9 women.
With the true trips each claim is right or wrong. It tells something only if claims of its kind are right more often
than the same words said of any place where a group has no flow: the base rate. A total that is there may say that the
hidden are a crowd, which is no secret; so the second kind is about places where they are none: somebody or nobody?
"""

from __future__ import annotations

from math import exp, lgamma
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._risk.finding import BREAKS, HOLDS, TELLS, Finding
from flowveil._risk.wholes import Reader

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._risk.case import Case

_SURE = 0.001  # how seldom chance makes as many claims right before they count as telling
_ADVICE = (
    "flowveil verify says which totals give a group away; make the release with --totals, or publish all and the "
    "groups not side by side."
)


class Score(NamedTuple):
    """Claims of one kind, how many are right, and how many would be at the base rate."""

    claims: int
    right: int
    expected: float
    chance: float  # how likely at least as many are right at the base rate

    @property
    def tells(self) -> bool:
        """Whether more claims are right than chance explains."""
        return self.right > self.expected and self.chance < _SURE

    def to_dict(self) -> dict[str, Json]:
        """Return the figures by name."""
        share, base = (part / self.claims if self.claims else None for part in (self.right, self.expected))
        return {"claims": self.claims, "right": self.right, "right_share": share, "base_rate": base}


def find_absence(case: Case) -> Finding | None:
    """Make claims about groups from flows that are missing, and score them by the true trips if these are given."""
    reader = Reader.of(case)
    if reader is None or "k_weight" in case.files.manifest["promise"]:
        return None  # a group may then be missing because of its weight, and is not small
    rest, missing = _rest_claims(reader, case.k, case.slack), _missing_claims(reader)
    claimed = sum(len(part.group) for part in rest)
    if not case.knows_truth:
        return Finding(
            "absence",
            claimed,
            "claims about groups without a flow that follow from totals",
            TELLS if claimed else HOLDS,
            f"{claimed:,} times the flows of all groups leave so much for groups without a flow that none can be empty."
            if claimed
            else "Flows of all groups leave room for every group without a flow to be empty.",
            _ADVICE if claimed else "",
            details={"rest": {"claims": claimed}},
        )
    scores = {
        "rest": _score_rest(reader, rest, case.k),
        "missing": _score_missing(reader, missing, case.k),
    }
    beyond = sum(max(score.right - score.expected, 0) for score in scores.values() if score.tells)
    return Finding(
        "absence",
        round(beyond, 1),
        "claims about groups without a flow that are right beyond the base rate",
        BREAKS if beyond else HOLDS,
        _sentence(scores),
        _ADVICE if beyond else "",
        details={kind: score.to_dict() for kind, score in scores.items()},
        private=True,
    )


class _Rest(NamedTuple):
    """Claims from flows of one whole: of which flow, of which group, from and to how many; and all that might be."""

    flow: IntArray
    group: IntArray
    low: IntArray
    high: IntArray
    hidden: BoolArray  # by flow and group: the group has no flow there


def _rest_claims(reader: Reader, k: int, slack: int) -> list[_Rest]:
    """Say of groups without a flow in a flow of all that they are not empty, as the others have no room for the rest.

    slack: by how much a published number may be off.
    """
    found = []
    for whole in reader.wholes:
        hidden = np.zeros((len(whole), len(reader.names)), bool)
        claims: list[tuple[int, int, int, int]] = []
        for flow in range(len(whole)):
            rows, inside = reader.near(whole, flow, reader.groups)
            without = np.setdiff1d(np.arange(len(reader.names)), reader.groups.group[rows])
            hidden[flow, without] = True
            if not inside.all():
                continue  # a flow that reaches beyond cannot be taken away
            rest = int(whole.told[flow]) - int(reader.groups.told[rows].sum())
            off = slack * (1 + len(rows))
            low = max(rest - off - (len(without) - 1) * (k - 1), 0)
            high = min(rest + off, k - 1)
            if 1 <= low <= high and rest - off <= len(without) * (k - 1):
                claims += [(flow, int(group), low, high) for group in without]
        columns = np.array(claims, np.int64).reshape(-1, 4).T
        found.append(_Rest(columns[0], columns[1], columns[2], columns[3], hidden))
    return found


def _missing_claims(reader: Reader) -> tuple[BoolArray, BoolArray]:
    """Return by flow of a group and group whether that group has no flow there, and whether the reader claims a few.

    The claim is made where no flow of all groups holds the flow: it must have been held back.
    """
    groups = reader.groups
    hidden = np.zeros((len(groups), len(reader.names)), bool)
    held = np.zeros(len(groups), bool)
    for flow in range(len(groups)):
        rows, _ = reader.near(groups, flow, groups)
        hidden[flow, np.setdiff1d(np.arange(len(reader.names)), groups.group[rows])] = True
    for whole in reader.wholes:
        for flow in range(len(whole)):
            rows, inside = reader.near(whole, flow, groups)
            held[rows[inside]] = True
    return hidden, hidden & ~held[:, None]


def _score_rest(reader: Reader, parts: list[_Rest], k: int) -> Score:
    """Score claims of numbers; the base rate is how often a group without a flow has such a number."""
    right, rates = 0, [np.zeros(0)]
    for whole, part in zip(reader.wholes, parts, strict=True):
        if not len(part.flow):
            continue
        truth = reader.truth(whole)
        every = np.minimum(truth[part.hidden], k)
        below = np.cumsum(np.bincount(every, minlength=k + 1)) / max(len(every), 1)
        rates.append(below[part.high] - below[part.low - 1])
        said = truth[part.flow, part.group]
        right += int(((part.low <= said) & (said <= part.high)).sum())
    rate: FloatArray = np.concatenate(rates)
    return Score(len(rate), right, float(rate.sum()), _chance_of_many(rate, right))


def _score_missing(reader: Reader, claims: tuple[BoolArray, BoolArray], k: int) -> Score:
    """Score claims of a few; the base rate is how often a group without a flow has a few, whether a total is there.

    Claims are some of all places where a group has no flow, and no crowd either: drawn without regard to the truth, as
    many would be right.
    """
    truth = reader.truth(reader.groups)
    hidden, claimed = (part & (truth < k) for part in claims)
    every, made = int(hidden.sum()), int(claimed.sum())
    few, right = int((truth[hidden] >= 1).sum()), int((truth[claimed] >= 1).sum())
    return Score(made, right, made * few / max(every, 1), _chance_of_some(every, few, made, right))


def _chance_of_many(rates: FloatArray, right: int) -> float:
    """Return how likely at least so many of independent claims are right, given how likely each is."""
    likely = np.ones(1)
    for rate in rates.tolist():
        likely = np.append(likely * (1 - rate), 0.0) + np.append(0.0, likely * rate)
    return float(likely[right:].sum())


def _chance_of_some(every: int, few: int, made: int, right: int) -> float:
    """Return how likely at least so many of some places, drawn from all, are among the few: the hypergeometric tail."""

    def ways(total: int, chosen: int) -> float:
        return lgamma(total + 1) - lgamma(chosen + 1) - lgamma(total - chosen + 1)

    numbers = range(max(right, made - (every - few)), min(few, made) + 1)
    whole = ways(every, made)
    return sum(exp(ways(few, number) + ways(every - few, made - number) - whole) for number in numbers)


def _sentence(scores: dict[str, Score]) -> str:
    """Say how often a reader is right, and how often without looking at what is missing."""
    made = {kind: score for kind, score in scores.items() if score.claims}
    if not made:
        return "No claim about a group without a flow follows from what is published beside it."
    parts = [
        f"{score.claims:,} claims of the kind {kind!r}: {score.right / score.claims:.1%} are right, "
        f"{score.expected / score.claims:.1%} at the base rate"
        for kind, score in made.items()
    ]
    return f"Of groups without a flow a reader may say that they have a few. {'; '.join(parts)}."
