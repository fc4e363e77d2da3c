"""What areas are called: words for people, which follow from public geometry alone."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from flowveil._places.geodesy import square_kilometers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._places.places import AreaTable
    from flowveil._places.zone_table import ZoneTable

EVERYWHERE, ALL_ZONES, ELSEWHERE_NAME = "Everywhere", "All zones", "Elsewhere"
_LONGEST = 80  # characters; a name stands in tables and beside places on a map


class Naming(Protocol):
    """Gives names to areas."""

    def names(self, known: AreaTable) -> list[str | None]:
        """Return the name of each area, None for one that has none."""


class Unnamed:
    """Names nothing but everything."""

    def names(self, known: AreaTable) -> list[str | None]:
        """Return a name for the top alone."""
        return [EVERYWHERE if area == "world" else None for area in known.area]


class ZoneNames:
    """Names of areas made of zones: a zone's own, that of the largest zone and how many others, or a column's value."""

    def __init__(self, table: ZoneTable, values: Mapping[str, str]) -> None:
        """Take zones, and by id the names of areas that are values of a column."""
        self._table = table
        self._values = values

    def names(self, known: AreaTable) -> list[str | None]:
        """Return the name of each area."""
        members = known.members or [None] * len(known.area)
        return [self._name(area, zones) for area, zones in zip(known.area, members, strict=True)]

    def _name(self, area: str, zones: list[str] | None) -> str | None:
        if zones is None:
            return ALL_ZONES
        if area in self._values or not zones:
            return plain(self._values.get(area, ""))
        first = min(zones, key=lambda zone: (-self._sizes[zone], zone)) if len(zones) > 1 else zones[0]
        name = plain(self._names[first] or "") or plain(first)
        return name if name is None or len(zones) == 1 else f"{name} + {len(zones) - 1}"

    @cached_property
    def _names(self) -> dict[str, str | None]:
        column = self._table.name_column
        names = self._table.ids if column is None else self._table.columns[column]
        return dict(zip(self._table.ids, names, strict=True))

    @cached_property
    def _sizes(self) -> dict[str, float]:
        """By zone: its size to three digits, so that zones alike are told apart by their ids and not by rounding."""
        sizes = np.nan_to_num(square_kilometers(self._table.geometry)).tolist()  # NaN: no outline
        return {zone: float(f"{size:.3g}") for zone, size in zip(self._table.ids, sizes, strict=True)}


def plain(text: str) -> str | None:
    """Return a text as one short line of printable characters; None if nothing of it is left."""
    words = "".join(character if character.isprintable() else " " for character in text).split()
    line = " ".join(words)
    return (line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…") or None
