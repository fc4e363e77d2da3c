"""Sensitive places: no small area of a release may touch one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import shapely

from flowveil._errors import InputError
from flowveil._folder import remembered
from flowveil._places import read_sensitive
from flowveil._verify.broken import broken, shown
from flowveil._verify.geo import read_shapes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json
    from flowveil._places import ZonesLike
    from flowveil._verify.manifest import Promise
    from flowveil._verify.tables import AreasTable


def check_sensitive(
    areas: AreasTable, promise: Promise, sensitive: ZonesLike | None, audit: Mapping[str, Json]
) -> None:
    """Raise if an area with fewer tiles than is promised touches a sensitive place, one after the other."""
    if not promise.sensitive_tiles:
        if sensitive is not None:
            raise InputError("the release promises nothing about sensitive places", "leave out --sensitive")
        return
    source = remembered(audit).sensitive if sensitive is None else sensitive
    if source is None:
        raise InputError(
            "the release says that no small area touches a sensitive place, and no such places were given",
            "give them with sensitive= or --sensitive FILE",
        )
    places = read_sensitive(source).tolist()
    for area, tiles, shape in zip(areas.area, areas.tiles, read_shapes(areas.geometry), strict=True):
        if tiles is None or tiles >= promise.sensitive_tiles:
            continue
        if shape is None:
            raise broken(f"the area {shown(area)} has few tiles and no outline: it may touch a sensitive place")
        if shapely.intersects(shape, places).any():
            raise broken(f"the area {shown(area)} touches a sensitive place and has too few tiles")
