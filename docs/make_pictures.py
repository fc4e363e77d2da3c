"""Draw the pictures of the documentation from the synthetic city: make pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path

import flowveil as fv
from flowveil._charts import areas_svg, bars_svg, frontier_svg
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


# From `python -m benchmarks choosing`: k, and how many meters the cabs of San Francisco are off.
METERS_BY_K = {2: 3, 5: 36, 10: 82, 15: 115, 20: 142, 50: 238, 100: 330}


def main() -> None:
    """Draw what counts as a crowd, and anonymize one city with each method to draw how its areas read."""
    FOLDER.mkdir(exist_ok=True)
    keep("persons", persons_svg())
    keep("months", months_svg())
    keep("weights", weights_svg())
    bars = [(f"k = {k}", meters, f"{meters} m") for k, meters in METERS_BY_K.items()]
    keep("k", bars_svg("Mean distance from a trip's true tile to the middle of its area", bars))
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


def persons_svg() -> str:
    """Draw ten trips of ten persons beside ten trips of one."""
    said = "Ten trips of ten persons, and ten trips of one person"
    panels = [panel(0, 10, "10 trips, 10 persons: a crowd"), panel(330, 1, "10 trips, 1 person: a habit")]
    shape = 'viewBox="0 0 640 190" role="img" font-family="sans-serif" font-size="14"'
    return "".join([f'<svg xmlns="http://www.w3.org/2000/svg" {shape}><title>{said}</title>', *panels, "</svg>\n"])


def panel(left: int, persons: int, said: str) -> str:
    """Draw ten trips to one place, from as many persons."""
    heights = [12 + 14.5 * trip for trip in range(10)]
    starts, size = (heights, 4) if persons > 1 else ([83] * 10, 7)
    parts = [
        f'<g transform="translate({left})">',
        '<rect x="1" y="1" width="308" height="188" rx="8" fill="#fff" stroke="#bbb"/>',
        f'<text x="155" y="176" text-anchor="middle" fill="#222">{said}</text>',
        '<rect x="236" y="58" width="50" height="50" rx="4" fill="#ddd" stroke="#888"/>',
    ]
    for trip, (start, over) in enumerate(zip(starts, heights, strict=True)):
        way = f"M60 {start:g}Q150 {over:g} 236 {68 + trip * 3.4:g}"
        parts.append(f'<path d="{way}" fill="none" stroke="#d55e00"/>')
    for y in starts[:persons]:
        wide = size * 1.6
        parts.append(f'<circle cx="52" cy="{y:g}" r="{size}" fill="#0b6e99"/>')
        body = f"M{52 - wide:g} {y + size * 2.6:g}a{wide:g} {wide:g} 0 0 1 {2 * wide:g} 0z"
        parts.append(f'<path d="{body}" fill="#0b6e99"/>')
    return "".join([*parts, "</g>"])


def months_svg() -> str:
    """Draw what a quarter less two of its months leaves, for one flow."""
    rows = [("the quarter", 25, "25 trips, published"), ("less January", 12, "12 trips, published")]
    rows += [
        ("less February", 11, "11 trips, published"),
        ("is March", 2, "2 trips: left out of March, told all the same"),
    ]
    parts = []
    for row, (name, trips, said) in enumerate(rows):
        y, color = 14 + row * 34, "#d55e00" if name == "is March" else "#0b6e99"
        parts.append(f'<text x="118" y="{y + 16}" text-anchor="end">{name}</text>')
        parts.append(f'<rect x="130" y="{y}" width="{trips * 9}" height="24" rx="3" fill="{color}"/>')
        parts.append(f'<text x="{trips * 9 + 140}" y="{y + 16}">{said}</text>')
    return framed(560, 158, "A quarter less two of its months is the third month", parts)


def weights_svg() -> str:
    """Draw three flows: safe for participants only, for the population only, for both."""
    flows = [
        (10, 4, "10 participants, who stand for few"),
        (3, 30, "3 participants, who stand for many"),
        (10, 20, "both"),
    ]
    parts = []
    for row, (asked, stands, said) in enumerate(flows):
        y, safe = 14 + row * 50, said == "both"
        parts += [f'<circle cx="{24 + 14 * each}" cy="{y + 12}" r="5" fill="#0b6e99"/>' for each in range(asked)]
        wide, color = stands * 8, "#009e73" if safe else "#d55e00"
        parts.append(f'<rect x="180" y="{y}" width="{wide}" height="24" rx="3" fill="#cde"/>')
        parts.append(f'<text x="{190 + wide}" y="{y + 16}" fill="{color}">{said}</text>')
    parts.append('<text x="18" y="168">asked</text><text x="180" y="168">people they stand for</text>')
    return framed(690, 180, "Flows that are safe for participants, for the population, and for both", parts)


def framed(width: int, height: int, title: str, parts: list[str]) -> str:
    """Put parts of a picture on a white ground."""
    shape = f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="14" fill="#222"'
    ground = f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="8" fill="#fff" stroke="#bbb"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {shape}><title>{title}</title>{ground}'
    return "".join([head, *parts, "</svg>\n"])


def keep(name: str, picture: str) -> None:
    """Write a picture."""
    (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
