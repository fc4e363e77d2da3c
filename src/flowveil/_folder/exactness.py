"""How far the published numbers of a release may be from the true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder.json import Json
    from flowveil._folder.manifests import Manifest

_POSITIVE_ONLY = "laplace"  # the method that lists counts above zero, after the noise


def most_error(promise: Mapping[str, Json]) -> int:
    """Return by how much a number of a flow without noise may differ from the true one: 0 where it is exact."""
    return int(promise["rounding"]) - 1 if "rounding" in promise else int(promise.get("cell_key", 0))


def check_sums(manifest: Manifest) -> None:
    """Raise if the counts of a release do not add up, since those below one were left out after the noise."""
    if manifest.get("method") == _POSITIVE_ONLY:
        raise InputError(
            "this release lists only counts above zero, so sums over it are too large",
            "read its flows one by one, or release with noisy-mosaic to ask for sums",
        )
