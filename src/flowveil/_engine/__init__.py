"""The one room that talks to a database engine."""

from flowveil._engine.aggregate import Aggregate, Labels
from flowveil._engine.condition import Condition, check_condition, describe_input, without_errors
from flowveil._engine.csv_files import named_anew
from flowveil._engine.duckdb import column_names, first_rows
from flowveil._engine.engines import DUCKDB, SPARK, check_engine, choose_spread, counting
from flowveil._engine.keys import WEIGHT_UNIT
from flowveil._engine.known_ids import names_any
from flowveil._engine.marking import KeyedRows, LocatedRows, MarkedRows, read_located, read_marked
from flowveil._engine.named_points import read_points
from flowveil._engine.node_pairs import Nodes, Tree
from flowveil._engine.points import OUT_OF_GROUPS, OUT_OF_PERIOD, Division, PointCounts, count_points
from flowveil._engine.reading import Reading, ReadingOptions, parse_reading
from flowveil._engine.rows import LESS_THAN_HALF, Request, number_sql
from flowveil._engine.samples import SAMPLE_COLUMNS, Samples, read_samples
from flowveil._engine.scanning import scan
from flowveil._engine.sorted_samples import SortedSamples, UserSamples, sort_samples
from flowveil._engine.source import (
    FILENAME,
    Derived,
    FileSource,
    QuerySource,
    Readable,
    Source,
    TableSource,
    fingerprint,
    open_source,
    with_file_names,
)
from flowveil._engine.spark_crowds import Cluster
from flowveil._engine.spark_session import one_session
from flowveil._engine.survey import Clock, describe_source, find_zones, look_at_clock

__all__ = [
    "DUCKDB",
    "FILENAME",
    "LESS_THAN_HALF",
    "OUT_OF_GROUPS",
    "OUT_OF_PERIOD",
    "SAMPLE_COLUMNS",
    "SPARK",
    "WEIGHT_UNIT",
    "Aggregate",
    "Clock",
    "Cluster",
    "Condition",
    "Derived",
    "Division",
    "FileSource",
    "KeyedRows",
    "Labels",
    "LocatedRows",
    "MarkedRows",
    "Nodes",
    "PointCounts",
    "QuerySource",
    "Readable",
    "Reading",
    "ReadingOptions",
    "Request",
    "Samples",
    "SortedSamples",
    "Source",
    "TableSource",
    "Tree",
    "UserSamples",
    "check_condition",
    "check_engine",
    "choose_spread",
    "column_names",
    "count_points",
    "counting",
    "describe_input",
    "describe_source",
    "find_zones",
    "fingerprint",
    "first_rows",
    "look_at_clock",
    "named_anew",
    "names_any",
    "number_sql",
    "one_session",
    "open_source",
    "parse_reading",
    "read_located",
    "read_marked",
    "read_points",
    "read_samples",
    "scan",
    "sort_samples",
    "with_file_names",
    "without_errors",
]
