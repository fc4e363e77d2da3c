"""Places: tiles, the hierarchies above them, and what areas look like."""

from flowveil.places._bbox import parse_bbox
from flowveil.places._geodesy import meters_between
from flowveil.places._h3grid import H3Grid
from flowveil.places._hierarchy import ROOT, Hierarchy
from flowveil.places._places import AreaTable, BoundingBox, Places

__all__ = ["ROOT", "AreaTable", "BoundingBox", "H3Grid", "Hierarchy", "Places", "meters_between", "parse_bbox"]
