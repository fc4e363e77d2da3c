"""Measures of what was lost."""

from flowveil.measure._boxes import cover_boxes
from flowveil.measure._cover import cover
from flowveil.measure._meanings import MEANINGS
from flowveil.measure._metrics import Published, Rest, metrics

__all__ = ["MEANINGS", "Published", "Rest", "cover", "cover_boxes", "metrics"]
