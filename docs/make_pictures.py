"""Draw the pictures of the documentation from the synthetic city: make pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path

import flowveil as fv
from flowveil.charts import areas_svg, frontier_svg
from flowveil.synthetic import CITY_BBOX, write_city

FOLDER = Path(__file__).parent / "pictures"
TITLES = {
    "mosaic": "mosaic: each flow has its own pair of areas",
    "nested": "nested: one origin map, a destination map for each origin area",
    "crosscut": "crosscut: one map of origins, one of destinations",
}


def main() -> None:
    """Anonymize one city with each method and draw how its areas read."""
    with tempfile.TemporaryDirectory() as folder:
        trips = Path(folder) / "city.parquet"
        write_city(trips, trips=100_000, persons=5_000)
        flows = fv.build_flows(trips, "h3:8", bbox=CITY_BBOX, unit="person_id", hierarchy="h3-binary")
    FOLDER.mkdir(exist_ok=True)
    for method, title in TITLES.items():
        options = {"side": "origin"} if method == "nested" else {}
        release = fv.anonymize(flows, method, options=options)
        (FOLDER / f"{method}.svg").write_text(areas_svg(release.flows, release.areas, title), encoding="utf-8")
    (FOLDER / "frontier.svg").write_text(frontier_svg(fv.frontier(flows), "mosaic"), encoding="utf-8")


if __name__ == "__main__":
    main()
