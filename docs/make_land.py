"""Make the basemap of the report from Natural Earth (public domain), as the npm package world-atlas has it.

Run once: `npm pack world-atlas`, unpack it, then `python docs/make_land.py package/land-50m.json`.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np

from flowveil._report.shoreline import clip

_TARGET = Path(__file__).parents[1] / "src" / "flowveil" / "report" / "assets" / "land-50m.npz"
_UNIT = 0.0036  # degrees; the step of the file that this reads


def main() -> None:
    """Write the rings of all land as differences of whole numbers, which compress well."""
    topology = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    scale, shift = np.array(topology["transform"]["scale"]), np.array(topology["transform"]["translate"])
    arcs = [np.cumsum(np.array(arc), axis=0) * scale + shift for arc in topology["arcs"]]
    (shape,) = topology["objects"]["land"]["geometries"]
    rings = [part for ring in itertools.chain.from_iterable(shape["arcs"]) for part in _split(_ring(arcs, ring))]
    steps = [
        np.diff(np.rint(ring / _UNIT).astype(np.int32), axis=0, prepend=np.zeros((1, 2), np.int32)) for ring in rings
    ]
    np.savez_compressed(
        _TARGET,
        unit=np.array(_UNIT),
        points=np.array([len(ring) for ring in rings], np.int32),
        steps=np.concatenate(steps),
    )


def _ring(arcs: list[np.ndarray], numbers: list[int]) -> np.ndarray:
    """Join arcs; a negative number is an arc taken backwards, and each starts where the last one ended."""
    parts = [arcs[number] if number >= 0 else arcs[~number][::-1] for number in numbers]
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])


def _split(ring: np.ndarray) -> list[np.ndarray]:
    """Cut a ring that crosses the 180th meridian; the file joins what lies on both sides of it."""
    turns = np.cumsum(np.rint(np.diff(ring[:, 0], prepend=ring[0, 0]) / 360))
    whole = np.column_stack([ring[:, 0] - 360 * turns, ring[:, 1]])
    if turns[-1]:  # around the pole
        whole = np.concatenate([whole, [[whole[-1, 0], -90], [whole[0, 0], -90]], whole[:1]])
    parts = []
    for shift in (-360, 0, 360):
        part = clip(whole[:-1] + np.array([shift, 0]), 0, -180, keeps_above=True)
        part = clip(part, 0, 180, keeps_above=False)
        if len(part) > 2:
            parts.append(np.concatenate([part, part[:1]]))
    return parts


if __name__ == "__main__":
    main()
