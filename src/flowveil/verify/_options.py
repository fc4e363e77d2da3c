"""Which places a release is about, as its manifest says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flowveil.verify._broken import broken
from flowveil.verify._json import only_keys

_KEYS = ("grid", "hierarchy")
_MORE_KEYS = ("crs", "bbox", "method_options")
_FINEST_H3 = 15
_AUTHORITY = r"[A-Z]{2,10}:[0-9A-Z]{1,20}"  # EPSG:32633
_PROJ_KEYS = "proj|zone|south|lat_0|lon_0|lat_1|lat_2|lat_ts|k|k_0|x_0|y_0|a|b|rf|ellps|datum|units|no_defs|type"
_PROJ = rf"\+({_PROJ_KEYS})(=[A-Za-z0-9.-]{{1,20}})?"  # no +title, which holds any text


@dataclass(frozen=True)
class Options:
    """Grid or zones, and the box that trips must lie in."""

    resolution: int | None = None  # H3
    binary: bool = False  # H3: groups of sibling cells are areas too
    side: float | None = None  # quadtree: meters
    crs: str | None = None
    columns: tuple[str, ...] | None = None  # zones: columns from fine to coarse; None for a dendrogram
    bbox: tuple[float, float, float, float] | None = None

    @property
    def by_zone(self) -> bool:
        """Whether trips name zones."""
        return self.resolution is None and self.side is None


def parse_options(options: Any) -> Options:
    """Check every option of the manifest."""
    only_keys(options, "the object 'options'", _KEYS, _MORE_KEYS)
    grid, hierarchy = options["grid"], options["hierarchy"]
    box = _box(options["bbox"]) if "bbox" in options else None
    if grid is None:
        if box is not None or "crs" in options:
            raise broken("a release on zones has a bbox or a crs")
        return Options(columns=_columns(hierarchy))
    name, _, number = grid.partition(":") if isinstance(grid, str) else ("", "", "")
    if name == "h3":
        if hierarchy not in ("h3", "h3-binary") or "crs" in options:
            raise broken("hierarchy or crs do not go with an H3 grid")
        return Options(resolution=_resolution(number), binary=hierarchy == "h3-binary", bbox=box)
    if name == "quadtree":
        if hierarchy != "quadtree" or not isinstance(options.get("crs"), str):
            raise broken("hierarchy or crs do not go with a quadtree")
        return Options(side=_side(number), crs=_crs(options["crs"]), bbox=box)
    raise broken("'grid' of the manifest is not a known grid")


def _columns(hierarchy: Any) -> tuple[str, ...] | None:
    if hierarchy == "ward":
        return None
    if not isinstance(hierarchy, list) or not hierarchy or not all(isinstance(c, str) and c for c in hierarchy):
        raise broken("'hierarchy' of the manifest is neither ward nor a list of columns")
    if len(set(hierarchy)) < len(hierarchy):
        raise broken("'hierarchy' of the manifest names a column twice")
    return tuple(hierarchy)


def _resolution(number: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]?", number) or int(number) > _FINEST_H3:
        raise broken("'grid' of the manifest has no H3 resolution")
    return int(number)


def _side(number: str) -> float:
    if not re.fullmatch(r"[1-9][0-9]{0,6}(\.[0-9]{1,20})?", number):
        raise broken("'grid' of the manifest has no usable side of squares")
    side = float(number)
    if number != (str(int(side)) if side == int(side) else repr(side)):
        raise broken("'grid' of the manifest is not written in the shortest way")
    return side


def _crs(crs: str) -> str:
    """Return a CRS that is named, or described by nothing but numbers and words of PROJ."""
    words = [re.fullmatch(_PROJ, part) for part in crs.split(" ")]
    keys = [word[1] for word in words if word]
    if not re.fullmatch(_AUTHORITY, crs) and not len(words) == len(set(keys)):
        raise broken("'crs' of the manifest is neither AUTHORITY:CODE nor a plain list of PROJ parameters")
    return crs


def _box(box: Any) -> tuple[float, float, float, float]:
    numbers = [edge for edge in box if isinstance(edge, float)] if isinstance(box, list) else []
    if len(numbers) != 4 or len(box) != 4:
        raise broken("'bbox' of the manifest is not four numbers")
    west, south, east, north = numbers
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise broken("'bbox' of the manifest is empty or lies off the globe")
    return west, south, east, north
