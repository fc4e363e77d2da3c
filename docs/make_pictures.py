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
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        trips = Path(folder) / "city.parquet"
        write_city(trips, trips=100_000, persons=5_000)
        flows = fv.build_flows(trips, "h3:8", bbox=CITY_BBOX, unit="person_id", hierarchy="h3-binary")
        for method, title in TITLES.items():
            options = {"side": "origin"} if method == "nested" else {}
            of_city = {"bbox": CITY_BBOX, "unit": "person_id"}
            own = fv.build_flows(trips, **of_city, **PLACES[method]) if method in PLACES else flows
            release = fv.anonymize(own, method, options=options)
            keep(method, areas_svg(release.flows, release.areas, title))
        noisy = fv.add_noise(
            fv.build_tile_matrix(trips, CITY_BBOX, "h3:7"), "laplace", 1.0
        )  # while its trips are there
        keep("laplace", areas_svg(noisy.flows, noisy.areas, "laplace: noise on every pair of tiles"))
        keep("frontier", frontier_svg(fv.frontier(flows), "mosaic"))


def keep(name: str, picture: str) -> None:
    """Write a picture."""
    (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
