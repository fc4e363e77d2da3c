"""Measures of what was lost."""

from flowveil._measure.boxes import cover_boxes
from flowveil._measure.covering import cover, cover_layers
from flowveil._measure.figures import Metrics
from flowveil._measure.meanings import MEANINGS
from flowveil._measure.measures import Published, Rest, check_tiles, metrics

__all__ = ["MEANINGS", "Metrics", "Published", "Rest", "check_tiles", "cover", "cover_boxes", "cover_layers", "metrics"]
