"""Places: tiles, the hierarchies above them, and what areas look like."""

from flowveil.places._bbox import parse_bbox
from flowveil.places._choose import choose_places
from flowveil.places._geodesy import meters_between
from flowveil.places._h3grid import H3Grid
from flowveil.places._hierarchy import ROOT, Hierarchy
from flowveil.places._places import AreaTable, BoundingBox, Places
from flowveil.places._quadtree import Quadtree
from flowveil.places._zone_table import ZoneTable, read_zones
from flowveil.places._zones import Zones

__all__ = [
    "ROOT",
    "AreaTable",
    "BoundingBox",
    "H3Grid",
    "Hierarchy",
    "Places",
    "Quadtree",
    "ZoneTable",
    "Zones",
    "choose_places",
    "meters_between",
    "parse_bbox",
    "read_zones",
]
