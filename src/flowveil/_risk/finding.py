"""What an attack on a release found."""

from __future__ import annotations

from dataclasses import dataclass, field

# What an attack comes to, from good to bad.
HOLDS = "holds"  # it learns nothing
TELLS = "tells"  # it learns something that the promise does not exclude
BREAKS = "breaks"  # it learns of a group of people what the promise excludes
VERDICTS = (HOLDS, TELLS, BREAKS)


@dataclass(frozen=True)
class Finding:
    """What one attack found: a figure, a verdict and a sentence for the publisher.

    >>> finding = fv.risk("release", attacks="repeats").findings[0]
    >>> finding.attack, finding.verdict
    ('repeats', 'tells')
    """

    attack: str  # its name
    figure: float  # what `counted` says, e.g. how many flows
    counted: str  # what the figure counts, e.g. "flows in which exactly one person made two trips"
    verdict: str  # one of VERDICTS
    sentence: str  # what the publisher should know, in plain words
    advice: str = ""  # what can be done about it; nothing where the release holds
    parameters: dict[str, object] = field(default_factory=dict)  # what the attack was told, e.g. {"share": 0.5}
    details: dict[str, object] = field(default_factory=dict)  # further figures by name
    private: bool = False  # whether it was computed from the true trips, or tells of places that may be a secret
