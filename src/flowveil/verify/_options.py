"""Which places a release is about, as its manifest says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flowveil.verify._broken import broken, shown
from flowveil.verify._json import only_keys

_KEYS = {"grid", "hierarchy"}
_MORE_KEYS = {"crs", "bbox", "method_options"}
_FINEST_H3 = 15
_LONGEST_OPTION = 200  # characters of an option's value


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
    if "method_options" in options:
        _check_method_options(options["method_options"])
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
        return Options(side=_side(number), crs=options["crs"], bbox=box)
    raise broken("'grid' of the manifest is not a known grid")


def _columns(hierarchy: Any) -> tuple[str, ...] | None:
    if hierarchy == "ward":
        return None
    if not isinstance(hierarchy, list) or not hierarchy or not all(isinstance(c, str) and c for c in hierarchy):
        raise broken("'hierarchy' of the manifest is neither ward nor a list of columns")
    return tuple(hierarchy)


def _resolution(number: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]?", number) or int(number) > _FINEST_H3:
        raise broken("'grid' of the manifest has no H3 resolution")
    return int(number)


def _side(number: str) -> float:
    if not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,2})?", number) or not 0 < float(number) <= 1e7:
        raise broken("'grid' of the manifest has no usable side of squares")
    return float(number)


def _box(box: Any) -> tuple[float, float, float, float]:
    numbers = [float(edge) for edge in box if _is_number(edge)] if isinstance(box, list) else []
    if len(numbers) != 4 or len(box) != 4:
        raise broken("'bbox' of the manifest is not four numbers")
    west, south, east, north = numbers
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise broken("'bbox' of the manifest is empty or lies off the globe")
    return west, south, east, north


def _check_method_options(options: Any) -> None:
    if not isinstance(options, dict):
        raise broken("'method_options' of the manifest is not an object")
    for name, value in options.items():
        good = value is None or isinstance(value, bool) or _is_number(value)
        good = good or (isinstance(value, str) and len(value) <= _LONGEST_OPTION)
        if not good or not re.fullmatch(r"[a-z][a-z0-9_-]{0,40}", name):
            raise broken(f"the method option {shown(name)!r} is not a name with a plain value")


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and abs(value) <= 1e300
