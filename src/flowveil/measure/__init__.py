"""Measures of what was lost."""

from flowveil.measure._cover import cover
from flowveil.measure._metrics import Published, metrics

__all__ = ["Published", "cover", "metrics"]
