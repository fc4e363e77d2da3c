"""What a verification returns when every promise holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape


@dataclass(frozen=True)
class Verification:
    """What holds of a release of flows or boxes, in plain words, and counts that are safe to print.

    >>> proof = fv.verify("release", "trips.parquet")
    >>> proof.flows, proof.trips_read
    (99, 2000)
    """

    checks: tuple[str, ...]
    flows: int  # flows (or boxes) of the release
    trips_read: int  # rows of the input, usable or not
    where: str | None = None  # the condition on these rows: no others were looked at
    columns: dict[str, str] = field(default_factory=dict)  # which columns were taken for what, as somebody said
    reading: dict[str, str] = field(default_factory=dict)  # how values were read, as somebody said

    def _repr_html_(self) -> str:
        """Show in a notebook what was checked."""
        return _html(f"Verified: {self.flows:,} flows against {self.trips_read:,} rows", self.checks, self.where)


@dataclass(frozen=True)
class TrajectoryVerification:
    """What holds of a release of trajectories, in plain words, and counts that are safe to print.

    >>> proof = fv.trajectories.verify("paths", "samples.parquet")
    >>> proof.groups, proof.users
    (10, 20)
    """

    checks: tuple[str, ...]
    groups: int
    users: int  # in groups
    unsupported: float  # share of (member, sample) pairs in which the member was not seen
    where: str | None = None  # the condition on the samples: no others were looked at
    columns: dict[str, str] = field(default_factory=dict)  # which columns were taken for what, as somebody said

    def _repr_html_(self) -> str:
        """Show in a notebook what was checked."""
        return _html(f"Verified: {self.groups:,} groups of {self.users:,} users", self.checks, self.where)


def _html(title: str, checks: tuple[str, ...], where: str | None) -> str:
    """Return what holds as a list; a condition on the input is said, since nothing else was looked at."""
    items = "".join(f"<li>{escape(check)}</li>" for check in checks)
    limit = "" if where is None else f"<small>Only rows with {escape(where)} were looked at.</small>"
    return f"<div><b>&#10003; {escape(title)}</b><ul>{items}</ul>{limit}</div>"
