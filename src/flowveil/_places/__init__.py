"""Places: tiles, the hierarchies above them, and what areas look like."""

from flowveil._places.area_tables import area_ids, areas_of_nodes, areas_of_sides, ids_of
from flowveil._places.areas import Areas, NodeAreas
from flowveil._places.choose import choose_places, finest, fixed, rejoin
from flowveil._places.family import Family, Listed, Numbered, Ways
from flowveil._places.gazetteer import Gazetteer, NamedPlacesLike, path_of, read_gazetteer, world_gazetteer
from flowveil._places.geodesy import meters_between, square_kilometers
from flowveil._places.h3grid import H3Grid
from flowveil._places.hierarchy import ROOT, Hierarchy, depths
from flowveil._places.id_boxes import boxes_of_ids, lattice_of_runs, places_of_points, runs_of_ids
from flowveil._places.naming import ELSEWHERE_NAME, kilometers_to_town, plain
from flowveil._places.places import AreaTable, BoundingBox, Places
from flowveil._places.quadtree import Quadtree
from flowveil._places.rectangles import UNIT, RectangleAreas, Rectangles, make_frame, tile_bounds, tile_points
from flowveil._places.sensitive import Sensitive, read_sensitive
from flowveil._places.zone_table import ZonesLike, ZoneTable, read_districts, read_shapes, read_zones
from flowveil._places.zones import Zones

__all__ = [
    "ELSEWHERE_NAME",
    "ROOT",
    "UNIT",
    "AreaTable",
    "Areas",
    "BoundingBox",
    "Family",
    "Gazetteer",
    "H3Grid",
    "Hierarchy",
    "Listed",
    "NamedPlacesLike",
    "NodeAreas",
    "Numbered",
    "Places",
    "Quadtree",
    "RectangleAreas",
    "Rectangles",
    "Sensitive",
    "Ways",
    "ZoneTable",
    "Zones",
    "ZonesLike",
    "area_ids",
    "areas_of_nodes",
    "areas_of_sides",
    "boxes_of_ids",
    "choose_places",
    "depths",
    "finest",
    "fixed",
    "ids_of",
    "kilometers_to_town",
    "lattice_of_runs",
    "make_frame",
    "meters_between",
    "path_of",
    "places_of_points",
    "plain",
    "read_districts",
    "read_gazetteer",
    "read_sensitive",
    "read_shapes",
    "read_zones",
    "rejoin",
    "runs_of_ids",
    "square_kilometers",
    "tile_bounds",
    "tile_points",
    "world_gazetteer",
]
