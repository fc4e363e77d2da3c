"""Places: tiles, the hierarchies above them, and what areas look like."""

from flowveil.places._bbox import parse_bbox
from flowveil.places._choose import choose_places
from flowveil.places._geodesy import meters_between
from flowveil.places._h3grid import H3Grid
from flowveil.places._hierarchy import ROOT, Hierarchy, depths
from flowveil.places._places import AreaTable, BoundingBox, Places
from flowveil.places._quadtree import Quadtree
from flowveil.places._rectangles import (
    UNIT,
    Areas,
    NodeAreas,
    RectangleAreas,
    Rectangles,
    make_frame,
    tile_bounds,
    tile_points,
)
from flowveil.places._zone_table import ZoneTable, read_zones
from flowveil.places._zones import Zones

__all__ = [
    "ROOT",
    "UNIT",
    "AreaTable",
    "Areas",
    "BoundingBox",
    "H3Grid",
    "Hierarchy",
    "NodeAreas",
    "Places",
    "Quadtree",
    "RectangleAreas",
    "Rectangles",
    "ZoneTable",
    "Zones",
    "choose_places",
    "depths",
    "make_frame",
    "meters_between",
    "parse_bbox",
    "read_zones",
    "tile_bounds",
    "tile_points",
]
