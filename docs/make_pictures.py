"""Draw the pictures of the documentation from the synthetic city: make pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path

import flowveil as fv
from flowveil._charts import areas_svg, frontier_svg
from flowveil.synthetic import CITY_BBOX, write_city

FOLDER = Path(__file__).parent / "pictures"
TITLES = {
    "mosaic": "mosaic: each flow has its own pair of areas",
    "nested": "nested: one origin map, a destination map for each origin area",
    "crosscut": "crosscut: one map of origins, one of destinations",
    "atg-dual": "atg-dual: origins near a target volume, a destination map for each",
    "odkanon": "odkanon: siblings merged on both axes until every flow passes",
    "oigh": "oigh: one uniform cut of each tree",
    "uniform-tiles": "uniform-tiles: the same step up everywhere",
    "knapsack": "knapsack: origins near a target volume, an exact knapsack of destinations for each",
    "mondrian": "mondrian: rectangles, cut at medians",
    "glove-od": "glove-od: boxes around groups of flows, which may overlap",
    "glove-sk": "glove-sk: boxes around clusters of flows, which may overlap",
}
# Drawn on squares, as in the paper that proposed them, and on hexagons with steps of seven.
PLACES = {"uniform-tiles": {"grid": "quadtree:500"}, "knapsack": {"grid": "quadtree:500"}, "oigh": {"grid": "h3:8"}}
PLACES |= {"glove-sk": {"grid": "h3:7"}}  # its memory grows with the square of the flows


def main() -> None:
    """Anonymize one city with each method and draw how its areas read."""
    with tempfile.TemporaryDirectory() as folder:
        trips = Path(folder) / "city.parquet"
        write_city(trips, trips=100_000, persons=5_000)
        flows = fv.build_flows(trips, "h3:8", bbox=CITY_BBOX, unit="person_id", hierarchy="h3-binary")
        others = {
            method: fv.build_flows(trips, bbox=CITY_BBOX, unit="person_id", **places)
            for method, places in PLACES.items()
        }
        matrix = fv.build_tile_matrix(trips, CITY_BBOX, "h3:7")
    FOLDER.mkdir(exist_ok=True)
    for method, title in TITLES.items():
        options = {"side": "origin"} if method == "nested" else {}
        release = fv.anonymize(others.get(method, flows), method, options=options)
        (FOLDER / f"{method}.svg").write_text(areas_svg(release.flows, release.areas, title), encoding="utf-8")
    tables = fv.add_noise(matrix, "laplace", 1.0).tables
    picture = areas_svg(tables["flows.parquet"], tables["areas.parquet"], "laplace: noise on every pair of tiles")
    (FOLDER / "laplace.svg").write_text(picture, encoding="utf-8")
    (FOLDER / "frontier.svg").write_text(frontier_svg(fv.frontier(flows), "mosaic"), encoding="utf-8")


if __name__ == "__main__":
    main()
