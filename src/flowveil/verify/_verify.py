"""Checking a written release against the trips it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Verification:
    """What was checked, and counts that are safe to print."""

    checks: tuple[str, ...]
    flows: int
    trips_read: int


def verify(
    release: str | Path,
    trips: Any,
    *,
    zones: Any = None,
    columns: Mapping[str, str] | None = None,
    where: str | None = None,
) -> Verification:
    """Check every promise."""
    raise NotImplementedError(release, trips, zones, columns, where)
