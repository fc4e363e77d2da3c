"""Measures of what was lost."""

from flowveil._measure.boxes import cover_boxes
from flowveil._measure.columns import METRIC_COLUMNS, MetricColumn, metric_row
from flowveil._measure.covering import cover, cover_layers
from flowveil._measure.each import metrics_of_each
from flowveil._measure.figures import Metrics
from flowveil._measure.meanings import MEANINGS
from flowveil._measure.measures import Published, Rest, check_tiles, metrics

__all__ = [
    "MEANINGS",
    "METRIC_COLUMNS",
    "MetricColumn",
    "Metrics",
    "Published",
    "Rest",
    "check_tiles",
    "cover",
    "cover_boxes",
    "cover_layers",
    "metric_row",
    "metrics",
    "metrics_of_each",
]
