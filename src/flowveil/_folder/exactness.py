"""How far the published numbers of a release may be from the true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder.json import Json


def most_error(promise: Mapping[str, Json]) -> int:
    """Return by how much a number of a flow without noise may differ from the true one: 0 where it is exact."""
    return int(promise["rounding"]) - 1 if "rounding" in promise else int(promise.get("cell_key", 0))
