"""What the name of a method says of a release: a method that cannot have given these areas did not give them.

The reverse cannot be told from a release: every map that `crosscut` may publish, `mosaic` may publish too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._folder import ELSEWHERE, SIDES
from flowveil._verify.broken import broken, shown

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._folder import Json
    from flowveil._verify.manifest import Promise
    from flowveil._verify.options import Options
    from flowveil._verify.together import Layer

_EITHER = "either"
_UNSTEERED = "promises no share of trips to leave out, which it always does"


class Shape(NamedTuple):
    """What releases of a method look like."""

    maps: int = 0  # at how many ends areas do not overlap, for each step of time and group
    tiles: bool = False  # all areas are tiles
    rectangles: bool = False
    overlapping: bool = False
    remainders: bool = False  # may have them
    times: bool = False  # may have a hierarchy of time
    steers: bool = False  # promises a share of trips to leave out, unless it was steered to a precision


SHAPES = {
    "mosaic": Shape(remainders=True, times=True, steers=True),
    "nested": Shape(maps=1, steers=True),
    "crosscut": Shape(maps=2, steers=True),
    "atg-dual": Shape(maps=1, steers=True),
    "atg-soft": Shape(maps=1),
    "suppression": Shape(maps=2, tiles=True),
    "odkanon": Shape(maps=2, steers=True),
    "oigh": Shape(maps=2, steers=True),
    "knapsack": Shape(maps=1, steers=True),
    "mondrian": Shape(rectangles=True),
    "glove-od": Shape(rectangles=True, overlapping=True, steers=True),
    "glove-sk": Shape(rectangles=True, overlapping=True, steers=True),
    "uniform-tiles": Shape(maps=2),
}


def check_shape(manifest: Json, options: Options, promise: Promise) -> None:
    """Raise unless the method of the manifest gives releases with such a promise."""
    method, typed = manifest["method"], manifest["options"].get("method_options", {})
    shape = SHAPES[method]
    lower = shape.overlapping or (method == "odkanon" and typed.get("reinstate") is False)
    fails = {
        "gives no rectangles, or nothing else": promise.rectangles != shape.rectangles,
        "has overlapping areas, or has none": promise.overlapping != shape.overlapping,
        "has no remainders": promise.remainders and not shape.remainders,
        "does not generalize time": options.is_hierarchy and not shape.times,
        "counts all trips of a flow": not promise.exact and not lower,
        "was steered to a precision, not to a share of trips": "max_gbar" in typed
        and promise.max_suppression is not None,
        _UNSTEERED: shape.steers
        and promise.max_suppression is None
        and "max_gbar" not in typed
        and not options.areas_from,
        "has no options on areas of an earlier release": options.areas_from and not {"loss"} >= set(typed),
        "has no time to weigh": typed.get("time_weight", 1.0) != 1.0 and not options.is_hierarchy,
    }
    for said, failed in fails.items():
        if failed:
            raise broken(f"the release is not one of {method}, which {said}")


def check_maps(manifest: Json, layer: Layer, *, areas_from: bool) -> None:
    """Raise if areas overlap at an end of which the method has one map; areas_from: they are of an earlier release."""
    method, typed = manifest["method"], manifest["options"].get("method_options", {})
    shape = SHAPES[method]
    if areas_from:  # which may have had other steps of time and groups
        return
    ends = layer.flows.origin, layer.flows.destination
    rows = np.array([row for row, pair in enumerate(zip(*ends, strict=True)) if ELSEWHERE not in pair], np.int64)
    if shape.tiles and any(layer.ground.tile(ids[row]) is None for ids in ends for row in rows.tolist()):
        raise broken(f"the release is not one of {method}, which has no areas but tiles")
    # With one map it may be of origins in one matrix and of destinations in another: each is looked at by itself.
    slots = layer.slots.of_flow[rows]
    for slot in np.unique(slots).tolist() if shape.maps else ():
        _check_part(method, shape.maps, typed.get("side", _EITHER), layer, rows[slots == slot])


def _check_part(method: str, maps: int, asked: str, layer: Layer, rows: IntArray) -> None:
    """Raise if areas of some flows overlap at more ends than they may; asked: the end that has one map, or either."""
    ends = dict(zip(SIDES, (layer.flows.origin, layer.flows.destination), strict=True))
    sides = SIDES if asked == _EITHER else (asked,)
    wrong = {side: pair for side in sides if (pair := _overlap(ends[side], layer, rows)) is not None}
    if len(wrong) > len(sides) - min(maps, len(sides)):
        side, (one, other) = next(iter(wrong.items()))
        raise broken(
            f"the release is not one of {method}, which has one map of {side} areas: "
            f"{shown(one)} and {shown(other)} overlap"
        )


def _overlap(ids: list[str], layer: Layer, rows: IntArray) -> tuple[str, str] | None:
    """Return two areas of one end of some flows that overlap, None if there are none."""
    areas = sorted({ids[row] for row in rows.tolist()})
    pair = layer.ground.extents(areas).find_shared()
    return None if pair is None else (areas[pair[0]], areas[pair[1]])
