"""Small charts, drawn by ourselves: text for terminals, SVG for documents."""

from flowveil.charts._frontier import frontier_svg, frontier_text

__all__ = ["frontier_svg", "frontier_text"]
