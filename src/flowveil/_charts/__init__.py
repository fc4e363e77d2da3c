"""Small charts, drawn by ourselves: text for terminals, SVG for documents."""

from flowveil._charts.areas import areas_svg
from flowveil._charts.comparison import comparison_svg
from flowveil._charts.curves import distributions_svg
from flowveil._charts.displays import PRIVATE, DrawnTable, bars_svg, table_html
from flowveil._charts.frontier import frontier_svg, frontier_text, path_frontier_svg, path_frontier_text
from flowveil._charts.plots import boxes_svg, lines_svg
from flowveil._charts.scatter import scatter_svg

__all__ = [
    "PRIVATE",
    "DrawnTable",
    "areas_svg",
    "bars_svg",
    "boxes_svg",
    "comparison_svg",
    "distributions_svg",
    "frontier_svg",
    "frontier_text",
    "lines_svg",
    "path_frontier_svg",
    "path_frontier_text",
    "scatter_svg",
    "table_html",
]
