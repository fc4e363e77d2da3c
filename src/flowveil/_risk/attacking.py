"""Attacks on a release, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._charts import table_html
from flowveil._errors import InputError
from flowveil._folder import find_release, read_manifest
from flowveil._options import check_path, parse_choice, parse_names, parse_whole, shown
from flowveil._risk.attacks import ATTACKS
from flowveil._risk.case import Case
from flowveil._risk.exact import read_margins
from flowveil._risk.finding import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flowveil._places import ZonesLike
    from flowveil._risk.attacks import Attack
    from flowveil._risk.exact import MarginsLike
    from flowveil._risk.finding import Finding
    from flowveil._trips import TripsLike

_PRIVATE = "Private: some of these figures come from the true trips, or from your list of places."


@dataclass(frozen=True, repr=False)
class Risk:
    """What attacks on a release found.

    >>> fv.risk("release").worst
    'tells'
    """

    findings: tuple[Finding, ...]
    skipped: tuple[str, ...] = ()  # attacks that need the true trips, which were not given
    inapplicable: tuple[str, ...] = ()  # attacks that were asked for by name, and that this release is not open to

    def __repr__(self) -> str:
        return f"<Risk: {len(self.findings)} attacks, worst: {self.worst}>"

    @property
    def worst(self) -> str:
        """The worst verdict: "holds", "tells" or "breaks"."""
        return max((finding.verdict for finding in self.findings), key=VERDICTS.index, default=VERDICTS[0])

    @property
    def private(self) -> bool:
        """Whether a figure was computed from the true trips, or tells of places that may be a secret."""
        return any(finding.private for finding in self.findings)

    def reaches(self, verdict: str) -> bool:
        """Return whether an attack came to this verdict, or a worse one.

        verdict: "holds", "tells" or "breaks".

        >>> fv.risk("release").reaches("breaks")
        False
        """
        return VERDICTS.index(self.worst) >= VERDICTS.index(parse_choice(verdict, "verdict", VERDICTS))

    def to_dict(self) -> dict[str, object]:
        """Return all findings as values of JSON.

        >>> sorted(fv.risk("release").to_dict())
        ['findings', 'inapplicable', 'skipped', 'worst']
        """
        return {
            "worst": self.worst,
            "findings": [dict(vars(finding)) for finding in self.findings],
            "skipped": list(self.skipped),
            "inapplicable": list(self.inapplicable),
        }

    def in_full(self) -> list[dict[str, str]]:
        """Return what a page shows of each finding: what was asked, and what came of it.

        >>> fv.risk("release", attacks="repeats").in_full()[0]["question"]
        'Does a flow tell how often one person traveled?'
        """
        asked = {attack.name: attack.question for attack in ATTACKS}
        return [
            {
                "question": asked[one.attack],
                "verdict": one.verdict,
                "figure": f"{one.figure:,.6g} {one.counted}",
                "sentence": one.sentence,
                "advice": one.advice,
            }
            for one in self.findings
        ]

    def _repr_html_(self) -> str:
        """Show in a notebook what was found."""
        rows = [(one.attack, one.verdict, f"{one.figure:,g} {one.counted}", one.sentence) for one in self.findings]
        return table_html("Risk", ("attack", "verdict", "figure", ""), rows, _PRIVATE if self.private else "")


def risk(
    release: str | Path,
    trips: TripsLike | None = None,
    *,
    beside: str | Path | Iterable[str | Path] = (),
    margins: MarginsLike | None = None,
    narrow: int | None = None,
    attacks: str | Iterable[str] | None = None,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    sensitive: ZonesLike | None = None,
    progress: Callable[[str], None] | None = None,
) -> Risk:
    """Attack a release folder of any kind, as a stranger would who knows how it was made.

    trips: what the release was made from: with it attacks also say how often they are right, and figures are private.
    beside: other releases of the same data, which a stranger would read together with this one. margins: figures that a
    stranger knows, a table or a CSV or Parquet file with origin, destination, times and groups (what is missing means
    all) and trips. narrow: an interval of hidden trips is told of if it is narrower; by default k. attacks: names of
    those to run; by default all that apply. Input options (zones, columns, where) come from the audit file
    beside the folder unless they are given. sensitive: places (clinics, shelters) that flows should not pin down, as a
    file or table of points or outlines. progress: is told the question of each attack as it begins.

    >>> for finding in fv.risk("release", attacks="repeats").findings:
    ...     print(finding.attack, finding.verdict)
    repeats tells
    """
    kind, _ = read_manifest(release)
    if not isinstance(beside, str | Path | Iterable):
        raise InputError(f"beside is {shown(beside)}", "beside is a release folder, or a list of them")
    others = (beside,) if isinstance(beside, str | Path) else tuple(beside)
    case = Case(
        find_release(release),
        tuple(find_release(Path(check_path(other, "beside"))) for other in others),
        None if margins is None else read_margins(margins),
        None if narrow is None else parse_whole(narrow, "narrow", "narrow is a whole number of trips from 1 on"),
        trips=trips,
        zones=zones,
        columns=columns,
        where=where,
        sensitive=sensitive,
    )
    if trips is None and (zones is not None or columns or where):
        raise InputError("options of the input were given, but no input", "add --against INPUT, or leave them out")
    chosen, findings, skipped = _choose(attacks), [], []
    for attack in chosen:
        if kind not in attack.kinds:
            continue
        if attack.needs_truth and not case.knows_truth:
            skipped.append(attack.name)
            continue
        if progress is not None:
            progress(attack.question)
        if (finding := attack.run(case)) is not None:
            findings.append(finding)
    told = {finding.attack for finding in findings}.union(skipped)
    named = () if attacks is None else (attack.name for attack in chosen)
    return Risk(tuple(findings), tuple(skipped), tuple(name for name in named if name not in told))


def _choose(names: str | Iterable[str] | None) -> tuple[Attack, ...]:
    """Return the attacks of these names, in the order in which they are run; all for None."""
    if names is None:
        return ATTACKS
    known = {attack.name: attack for attack in ATTACKS}
    asked = {parse_choice(name, "attack", known) for name in parse_names(names, "attacks")}
    return tuple(attack for attack in ATTACKS if attack.name in asked)
