"""The one room that talks to a database engine."""

from flowveil.engine._aggregate import Aggregate, Labels
from flowveil.engine._condition import Condition, check_condition, describe_input, without_errors
from flowveil.engine._duckdb import column_names
from flowveil.engine._engines import DUCKDB, SPARK, check_engine, choose_spread, counting
from flowveil.engine._keys import WEIGHT_UNIT
from flowveil.engine._node_pairs import Nodes, Tree
from flowveil.engine._points import PointCounts, count_points
from flowveil.engine._rows import Request
from flowveil.engine._scan import scan
from flowveil.engine._source import FileSource, QuerySource, Source, TableSource, open_source
from flowveil.engine._spark_crowds import Cluster

__all__ = [
    "DUCKDB",
    "SPARK",
    "WEIGHT_UNIT",
    "Aggregate",
    "Cluster",
    "Condition",
    "FileSource",
    "Labels",
    "Nodes",
    "PointCounts",
    "QuerySource",
    "Request",
    "Source",
    "TableSource",
    "Tree",
    "check_condition",
    "check_engine",
    "choose_spread",
    "column_names",
    "count_points",
    "counting",
    "describe_input",
    "open_source",
    "scan",
    "without_errors",
]
