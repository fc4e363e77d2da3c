"""Names of hierarchies that split areas in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LATTICE, MANY = "lattice", "many"  # of tiles, also with an aspect as in lattice:3; of zones


def has_several_ways(hierarchy: str | Sequence[str] | None) -> bool:
    """Return whether a hierarchy that was typed splits areas in several ways."""
    return isinstance(hierarchy, str) and hierarchy.partition(":")[0] in (LATTICE, MANY)
