"""Small charts, drawn by ourselves: text for terminals, SVG for documents."""

from flowveil.charts._areas import areas_svg
from flowveil.charts._comparison import comparison_svg
from flowveil.charts._curves import distributions_svg
from flowveil.charts._frontier import frontier_svg, frontier_text

__all__ = ["areas_svg", "comparison_svg", "distributions_svg", "frontier_svg", "frontier_text"]
