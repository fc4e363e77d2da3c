"""The one room that talks to a database engine."""

from flowveil.engine._aggregate import WEIGHT_UNIT, Aggregate, aggregate
from flowveil.engine._duckdb import check_condition, column_names
from flowveil.engine._points import PointCounts, count_points
from flowveil.engine._rows import Request
from flowveil.engine._scan import scan
from flowveil.engine._source import FileSource, Source, TableSource, open_source

__all__ = [
    "WEIGHT_UNIT",
    "Aggregate",
    "FileSource",
    "PointCounts",
    "Request",
    "Source",
    "TableSource",
    "aggregate",
    "check_condition",
    "column_names",
    "count_points",
    "open_source",
    "scan",
]
