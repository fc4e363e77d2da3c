"""A picture of how the areas of a release read: where one place's travelers go, as published."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._arrays import texts, whole_numbers

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from flowveil._arrays import FloatArray, IntArray

_PANEL, _GAP, _MARGIN, _HEAD, _FOOT = 400, 24, 12, 66, 30
# A light-to-dark blue scale that stays apart in gray and for color-blind readers.
_SHADES = ("#e3eef6", "#b7d3e9", "#7fb2d8", "#4688bf", "#1f5f9c", "#0b3c6b")
_MARK = "#d1495b"


def areas_svg(flows: pa.Table, areas: pa.Table, title: str, place: tuple[float, float] | None = None) -> str:
    """Draw two maps: at the left every origin area, at the right the destinations of the flows from one place.

    flows, areas: the tables of a release. place: lon and lat; by default the center of the busiest origin area.
    """
    origins, destinations = _Side.read(areas, "origin"), _Side.read(areas, "destination")
    place = place or _busiest(flows, origins)
    leaving = flows.filter(np.isin(flows["origin"].to_numpy(zero_copy_only=False), origins.holding(place)))
    frame = _Frame.around([*origins.shapes, *destinations.shapes])
    width = 2 * _PANEL + _GAP + 2 * _MARGIN
    height = _HEAD + _PANEL + _FOOT
    starts = sorted(set(texts(leaving["origin"])))
    left = [*_outlines(frame, origins), *_filled(frame, origins, dict.fromkeys(starts, _MARK), 0.35)]
    right = [*_filled(frame, destinations, _shades(leaving, destinations), 0.85)]
    leave = "1 flow leaves" if leaving.num_rows == 1 else f"{leaving.num_rows:,} flows leave"
    counted = f"{leave} from {'1 area that holds' if len(starts) == 1 else f'{len(starts)} areas that hold'} it"
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#222">',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text x="{_MARGIN}" y="22" font-size="16" font-weight="600">{escape(title)}</text>',
            f'<text x="{_MARGIN}" y="42" fill="#555">{counted}</text>',
            *_panel(_MARGIN, "origin areas; red: those of the marked place", [*left, _dot(frame, place)]),
            *_panel(_MARGIN + _PANEL + _GAP, "where they go; darker: more trips per km2", [*right, _dot(frame, place)]),
            "</svg>",
            "",
        ]
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """The areas of one side that have a shape, large ones first, so that small ones are drawn on top."""

    names: npt.NDArray[np.object_]
    shapes: npt.NDArray[np.object_]

    @classmethod
    def read(cls, areas: pa.Table, side: str) -> _Side:
        rows = areas.filter(np.array(areas["side"].to_pylist()) == side)
        shapes = shapely.from_wkb(np.array(rows["geometry"].to_pylist(), object))
        names = np.array(rows["area"].to_pylist(), object)
        known = np.array([shape is not None for shape in shapes], bool)
        order = np.argsort(-shapely.area(shapes[known]), kind="stable")
        return cls(names[known][order], shapes[known][order])

    def holding(self, place: tuple[float, float]) -> list[str]:
        inside = shapely.contains(self.shapes, shapely.Point(place))
        return [str(name) for name in self.names[inside]]


@dataclass(frozen=True)
class _Frame:
    """From degrees to a square panel, with longitude shortened as at the middle latitude."""

    west: float
    north: float
    scale: float
    squeeze: float

    @classmethod
    def around(cls, shapes: list[shapely.Geometry]) -> _Frame:
        # Areas far larger than the others would leave the city a dot: the frame holds the middle 90 % of centers.
        bounds = shapely.bounds(np.array(shapes, object))
        centers = (bounds[:, :2] + bounds[:, 2:]) / 2
        low, high = np.quantile(centers, [0.02, 0.98], axis=0)
        squeeze = float(np.cos(np.radians((low[1] + high[1]) / 2)))
        span = 1.15 * max((high[0] - low[0]) * squeeze, high[1] - low[1], 1e-6)
        middle = (low + high) / 2
        return cls(middle[0] - span / squeeze / 2, middle[1] + span / 2, _PANEL / span, squeeze)

    def place(self, points: FloatArray) -> FloatArray:
        return np.column_stack(
            [(points[:, 0] - self.west) * self.squeeze * self.scale, (self.north - points[:, 1]) * self.scale]
        )


def _busiest(flows: pa.Table, origins: _Side) -> tuple[float, float]:
    trips: dict[str, int] = {}
    for name, count in zip(texts(flows["origin"]), whole_numbers(flows["trips"]), strict=True):
        trips[name] = trips.get(name, 0) + count
    sizes = shapely.area(origins.shapes)
    best = max(range(len(sizes)), key=lambda row: trips.get(str(origins.names[row]), 0) / sizes[row])
    center = shapely.centroid(origins.shapes[best])
    return center.x, center.y


def _shades(leaving: pa.Table, destinations: _Side) -> dict[str, str]:
    """Shade destination areas by trips per square kilometer, in steps of equal numbers of areas."""
    trips: dict[str, int] = {}
    for name, count in zip(texts(leaving["destination"]), whole_numbers(leaving["trips"]), strict=True):
        trips[name] = trips.get(name, 0) + count
    rows: IntArray = np.array([row for row, name in enumerate(destinations.names) if name in trips], np.int64)
    if not len(rows):
        return {}
    density = np.array([trips[name] for name in destinations.names[rows]]) / shapely.area(destinations.shapes[rows])
    rank = np.argsort(np.argsort(density)) * len(_SHADES) // len(rows)
    return {str(name): _SHADES[step] for name, step in zip(destinations.names[rows], rank, strict=True)}


def _outlines(frame: _Frame, side: _Side) -> list[str]:
    return [f'<path d="{_path(frame, shape)}" fill="none" stroke="#999" stroke-width="0.6"/>' for shape in side.shapes]


def _filled(frame: _Frame, side: _Side, colors: dict[str, str], opacity: float) -> list[str]:
    return [
        f'<path d="{_path(frame, shape)}" fill="{colors[name]}" fill-opacity="{opacity}" stroke="#444"'
        f' stroke-width="0.5"><title>{escape(str(name))}</title></path>'
        for name, shape in zip(side.names, side.shapes, strict=True)
        if name in colors
    ]


def _path(frame: _Frame, shape: shapely.Geometry) -> str:
    rings = [shapely.get_coordinates(ring) for part in shapely.get_parts(shape) for ring in shapely.get_rings(part)]
    return "".join(
        "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in frame.place(ring[:-1]).tolist()) + "Z" for ring in rings
    )


def _dot(frame: _Frame, place: tuple[float, float]) -> str:
    x, y = frame.place(np.array([place]))[0]
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_MARK}" stroke="#fff" stroke-width="1.5"/>'


def _panel(left: int, caption: str, content: list[str]) -> list[str]:
    return [
        f'<svg x="{left}" y="{_HEAD}" width="{_PANEL}" height="{_PANEL}" viewBox="0 0 {_PANEL} {_PANEL}">',
        f'<rect width="{_PANEL}" height="{_PANEL}" fill="#fafafa" stroke="#ccc"/>',
        *content,
        "</svg>",
        f'<text x="{left}" y="{_HEAD + _PANEL + 18}" fill="#555">{escape(caption)}</text>',
    ]
