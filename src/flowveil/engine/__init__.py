"""The one room that talks to a database engine."""

from flowveil.engine._aggregate import Aggregate, Labels
from flowveil.engine._duckdb import check_condition, column_names
from flowveil.engine._engines import DUCKDB, aggregate, check_engine
from flowveil.engine._keys import WEIGHT_UNIT
from flowveil.engine._points import PointCounts, count_points
from flowveil.engine._rows import Request
from flowveil.engine._scan import scan
from flowveil.engine._source import FileSource, QuerySource, Source, TableSource, open_source

__all__ = [
    "DUCKDB",
    "WEIGHT_UNIT",
    "Aggregate",
    "FileSource",
    "Labels",
    "PointCounts",
    "QuerySource",
    "Request",
    "Source",
    "TableSource",
    "aggregate",
    "check_condition",
    "check_engine",
    "column_names",
    "count_points",
    "open_source",
    "scan",
]
