"""The report as readers meet it, in a real browser without a network; every page fails on an error in its console."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
from collections import Counter
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from pyproj import Geod

import flowveil as fv
from flowveil import trajectories
from flowveil._folder import Files, Kind
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones
from tests.browser.chromium import open_page
from tests.test_report import draw_page, large_release
from tests.waiting import wait_for

WIDE = {"viewport": {"width": 1280, "height": 900}}
# Moves the map in every frame; returns how long the frames took, sorted.
PAN = """() => new Promise((done) => {
    const frames = [];
    let last = performance.now();
    const step = (now = performance.now()) => {
        frames.push(now - last);
        last = now;
        flowveil.map.pan(4, 2);
        if (frames.length > 20) done(frames.slice(1).sort((a, b) => a - b));
        else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""


@pytest.fixture(scope="module")
def folders(city_trips, city_zone_trips, tmp_path_factory):
    """Return the release of the city with overlapping areas, and one over a dendrogram of zones."""
    home = tmp_path_factory.mktemp("browser")
    flows = fv.build_flows(city_trips, "h3:8", bbox=CITY_BBOX, unit="person_id")
    fv.anonymize(flows, elsewhere=True).write(home / "city", report=True)
    zones = str(city_zone_trips.with_name("zones.parquet"))
    by_zone = fv.build_flows(city_zone_trips, zones=zones, hierarchy="ward", unit="person_id")
    fv.anonymize(by_zone, "nested", options={"side": "origin"}).write(home / "ward", report=True)
    return home


@pytest.fixture(params=["city", "ward"])
def opened(request, folders, browser):
    """Open the report of a release; return the page and its folder."""
    folder = folders / request.param
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        yield page, folder


def number(page, selector):
    """Return the first whole number of an element."""
    return int(re.search(r"-?[\d,]+", page.text_content(selector))[0].replace(",", ""))


def read(folder):
    """Return flows and areas as rows."""
    return (pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("flows", "areas"))


def names(areas):
    """Return what areas are called, by id: numbered where several have the same name."""
    called = {row["area"]: row["name"] or row["area"] for row in areas}
    alike = {area: [other for other in called if called[other] == called[area]] for area in called}
    return {
        area: f"{name} #{alike[area].index(area) + 1}" if len(alike[area]) > 1 else name
        for area, name in called.items()
    }


def sized(areas, side, name):
    """Return what an area is called where names are short, with its size if it is large."""
    shape = shapes(areas, side).get(name)
    size = 0 if shape is None else abs(Geod(ellps="WGS84").geometry_area_perimeter(shape)[0]) / 1e6
    digits = 2 if size < 10 else 3
    return names(areas)[name] + (f" ({float(f'{size:.{digits}g}'):,g} km²)" if size >= 1 else "")


def on_screen(page, lon, lat):
    """Return where a place is in the window."""
    spot = page.evaluate("([lon, lat]) => flowveil.map.toScreen(flowveil.map.local(lon, lat))", [lon, lat])
    frame = page.locator("#map").bounding_box()
    return frame["x"] + spot["x"], frame["y"] + spot["y"]


def shapes(areas, side):
    """Return the outlines of the areas of a side by id, as shapely reads them."""
    return {row["area"]: shapely.from_wkb(row["geometry"]) for row in areas if row["side"] == side and row["geometry"]}


def smallest(areas, side, lon, lat):
    """Return the smallest area of a side that holds a place."""
    point = shapely.Point(lon, lat)
    held = {name: shape for name, shape in shapes(areas, side).items() if shape.contains(point)}
    return min(held, key=lambda name: held[name].area)


def answer(flows, areas, side, name):
    """Return about how many published trips leave (or reach) an area, at least and at most: by shapely."""
    outlines = shapes(areas, side)
    place = outlines[name]
    about = low = high = 0.0
    for row in flows:
        area = outlines.get(row[side])
        if area is None:  # world, all, elsewhere: its trips may be anywhere
            high += row["trips"]
            continue
        if not area.intersects(place):
            continue
        shared = area.intersection(place).area
        if shared <= 0.01 * min(area.area, place.area):
            continue
        about += row["trips"] * shared / area.area
        high += row["trips"]
        low += row["trips"] if shared >= 0.99 * area.area else 0
    return about, low, high


def told(page, selector):
    """Return about, low and high as an element has them."""
    return tuple(float(page.get_attribute(selector, f"data-{name}")) for name in ("about", "low", "high"))


def a_place(flows, areas, side):
    """Return a point deep inside the smallest area at the busiest place of a side: at an edge a pixel would decide."""
    outlines = shapes(areas, side)
    name = max((row for row in flows if row[side] in outlines), key=lambda row: row["trips"])[side]
    while True:
        point = shapely.get_point(shapely.maximum_inscribed_circle(outlines[name]), 0)
        inner = smallest(areas, side, point.x, point.y)
        if inner == name:
            return point.x, point.y
        name = inner


def test_totals(opened):
    """What the page says at first is the sum of the folder."""
    page, folder = opened
    flows, _ = read(folder)
    flows = list(flows)

    assert number(page, "#shown-amount") == sum(row["trips"] for row in flows)
    assert number(page, "#shown-count") == len(flows)
    assert number(page, '[data-figure="smallest_persons"]') == min(row["persons"] for row in flows)


@pytest.mark.parametrize("side", ["origin", "destination"])
def test_a_place_answers(opened, side):
    """Label, panel and folder agree about how many trips leave (or reach) a place, and about its bounds."""
    page, folder = opened
    flows, areas = (list(rows) for rows in read(folder))
    place = a_place(flows, areas, side)
    if side == "destination":
        page.get_by_role("radio", name="Destinations").check()
    page.locator("#map").scroll_into_view_if_needed()
    name, verb = smallest(areas, side, *place), "leave" if side == "origin" else "arrive"
    about, low, high = answer(flows, areas, side, name)

    page.mouse.move(*on_screen(page, *place))
    assert name in page.text_content("#tip")
    hovered, text = told(page, "#tip-answer"), page.text_content("#tip-answer")
    page.mouse.click(*on_screen(page, *place))
    chosen = told(page, "#place-answer")

    assert hovered == chosen
    assert chosen[0] == pytest.approx(about, rel=0.02)
    assert chosen[1:] == pytest.approx((low, high))
    assert page.text_content("#place-answer").lower() == f"{text}."
    if high > low:
        assert f"published trips {verb} here (between {low:,.0f} and {high:,.0f})" in text
    else:
        assert text == f"{low:,.0f} published trips {verb} here"
    # What the pointer is on now is what the legend tells of: where the trips of the place go, or come from.
    legend, tip = page.text_content("#legend b"), page.locator("#tip")
    assert "the chosen place" in legend
    assert tip.is_hidden() or "the chosen place" in tip.inner_text()
    own = [row["trips"] for row in flows if row[side] == name]
    assert page.text_content("#place-own").startswith(f"{sum(own):,} trip")
    page.focus("#map")
    page.keyboard.press("Escape")
    assert number(page, "#shown-count") == len(flows)


def test_bounds_are_true(folders, browser, city_trips):
    """No area has fewer true departures than its lower bound, nor more than the upper one, but for trips left out."""
    import h3

    folder = folders / "city"
    flows, areas = (list(rows) for rows in read(folder))
    trips = pq.read_table(city_trips)
    starts = zip(trips["start_lat"].to_pylist(), trips["start_lon"].to_pylist(), strict=True)
    true = Counter(h3.latlng_to_cell(lat, lon, 8) for lat, lon in starts)
    centers = {cell: shapely.Point(h3.cell_to_latlng(cell)[::-1]) for cell in true}
    left_out = trips.num_rows - sum(
        row["trips"] for row in flows if "elsewhere" not in (row["origin"], row["destination"])
    )
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        told_of = page.evaluate(
            """() => {
                const {explorer, scene} = flowveil, {model, tally} = explorer;
                return scene.ids.map((id, row) => [id, row])
                    .filter(([, row]) => scene.side[row] === 0 && scene.outline[row] >= 0)
                    .map(([id, row]) => [id, model.answer(tally, row, 0)]);
            }"""
        )

    outlines = shapes(areas, "origin")
    assert len(told_of) == len(outlines)
    for name, said in told_of:
        departures = sum(true[cell] for cell, center in centers.items() if outlines[name].contains(center))
        assert said["low"] <= departures <= said["high"] + left_out
        assert said["low"] <= said["about"] + 1e-6
        assert said["about"] <= said["high"] + 1e-6


def test_the_world_touches_every_place(browser, tmp_path):
    """Trips of a flow to the whole world may arrive in any place: the number is exact only where there are none."""
    homes, near = [(4.4, 50.8), (4.7, 50.9)], (4.5, 50.85)
    far = [(-74.0, 40.7), (139.7, 35.7), (18.4, -33.9), (151.2, -33.9), (-46.6, -23.5)]
    trips = [(*homes[0], *near)] * 10 + [(*homes[1], *end) for end in far]
    names = ("start_lon", "start_lat", "end_lon", "end_lat")
    table = pa.table({name: [trip[place] for trip in trips] for place, name in enumerate(names)})
    counted = fv.build_flows(table, "h3:6", hierarchy="h3")
    folder = fv.anonymize(counted, k=5, max_suppression=0).write(tmp_path / "world", report=True)
    flows, areas = (list(rows) for rows in read(folder))
    anywhere = sum(row["trips"] for row in flows if row["destination"] == "world")
    assert anywhere > 0
    place = a_place([row for row in flows if row["destination"] != "world"], areas, "destination")
    name = smallest(areas, "destination", *place)
    about, low, high = answer(flows, areas, "destination", name)
    assert high == low + anywhere
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        page.evaluate(f"flowveil.explorer.select(flowveil.scene.ids.lastIndexOf('{name}'))")
        assert told(page, "#place-answer") == pytest.approx((about, low, high))
        assert f"(between {low:,.0f} and {high:,.0f})" in page.text_content("#place-answer")
        page.evaluate("flowveil.explorer.select(flowveil.scene.ids.lastIndexOf('world'))")
        assert f"{anywhere:,} published trips have exactly this area" in page.text_content("#place-answer")


def test_density(opened):
    """The color of a place is that of the trips of all areas over it, each spread evenly; label and map agree."""
    page, folder = opened
    flows, areas = (list(rows) for rows in read(folder))
    km2 = square_kilometers(areas, "origin")
    outlines = shapes(areas, "origin")
    place = a_place(flows, areas, "origin")
    point = shapely.Point(*place)
    page.locator("#map").scroll_into_view_if_needed()

    page.mouse.move(*on_screen(page, *place))

    expected = sum(row["trips"] / km2[row["origin"]] for row in flows if _holds(outlines.get(row["origin"]), point))
    assert float(page.get_attribute("#tip-density", "data-density")) == pytest.approx(expected, rel=0.01)
    drawn = page.evaluate(
        """([lon, lat]) => {
            const {map} = flowveil, spot = map.toScreen(map.local(lon, lat)), {raster} = map;
            return raster.density[Math.floor(spot.y) * (raster.width + 1) + Math.floor(spot.x)];
        }""",
        place,
    )
    assert drawn == pytest.approx(expected, rel=0.25)  # of the middle of a pixel


def _holds(shape, point):
    return shape is not None and shape.contains(point)


def square_kilometers(areas, side):
    """Return sizes by id, by another way than the page's: geodesic areas of pyproj."""
    geod = Geod(ellps="WGS84")
    return {name: abs(geod.geometry_area_perimeter(shape)[0]) / 1e6 for name, shape in shapes(areas, side).items()}


def test_switch_layers(opened):
    """Layers, sides, lines and theme change what is drawn, and the address remembers them."""
    page, folder = opened
    _, areas = (list(rows) for rows in read(folder))
    drawn = page.locator("#map")

    pictures = [drawn.screenshot()]

    def draw_anew():
        wait_for(lambda: drawn.screenshot() not in pictures)
        page.wait_for_timeout(100)
        pictures.append(drawn.screenshot())

    for action in ("Destinations", "Published areas", "Flows"):
        page.get_by_role("radio", name=action).check()
        draw_anew()
        if action == "Published areas":
            assert page.evaluate("flowveil.map.fills.length") == len(shapes(areas, "destination"))
    assert page.evaluate("flowveil.map.lines.length") > 0
    page.select_option("#lines", "0")
    draw_anew()
    page.click("#theme")
    draw_anew()

    assert len(set(pictures)) == len(pictures)
    assert page.evaluate("flowveil.map.lines.length") == 0
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("location.hash") == "#layer=flows&side=destination&lines=0"
    page.reload()
    page.wait_for_function("window.flowveil")
    assert page.is_checked("input[name=layer][value=flows]")
    assert page.is_checked("input[name=side][value='1']")


def test_lines_answer(opened):
    """A line says which flow it is, and how many trips it has, to the pointer and to a click."""
    page, folder = opened
    flows, areas = (list(rows) for rows in read(folder))
    page.get_by_role("radio", name="Flows").check()
    page.select_option("#lines", "25")
    page.locator("#map").scroll_into_view_if_needed()
    spots = page.evaluate(
        """() => flowveil.map.lines.map((line) => flowveil.map.curve(line)).filter(Boolean).map(([a, bend, b]) =>
            ({x: 0.25 * a.x + 0.5 * bend.x + 0.25 * b.x, y: 0.25 * a.y + 0.5 * bend.y + 0.25 * b.y}))
            .filter(({x, y}) => !flowveil.map.bubbleAt(x, y))"""
    )
    frame = page.locator("#map").bounding_box()
    page.mouse.move(frame["x"] + spots[-1]["x"], frame["y"] + spots[-1]["y"])

    name, amount = page.text_content("#tip b"), number(page, "#tip div")
    ends = [(row["origin"], row["destination"]) for row in flows if row["trips"] == amount]
    assert name in [f"{sized(areas, 'origin', origin)} → {sized(areas, 'destination', end)}" for origin, end in ends]
    page.mouse.click(frame["x"] + spots[-1]["x"], frame["y"] + spots[-1]["y"])
    assert number(page, "#pair-amount") == amount


def test_keyboard(opened):
    """All of it works without a mouse: the map, and the list of areas."""
    page, folder = opened
    flows, areas = (list(rows) for rows in read(folder))
    page.focus("#map")
    before = page.evaluate("[flowveil.map.x, flowveil.map.scale]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    after = page.evaluate("[flowveil.map.x, flowveil.map.scale]")

    assert after[0] > before[0]
    assert after[1] > before[1]
    page.locator("#areas-section summary").focus()
    page.keyboard.press("Enter")
    first = page.locator("#areas button").first
    first.focus()
    page.keyboard.press("Enter")
    name = page.text_content("#place .big")
    if name in shapes(areas, "origin"):
        assert told(page, "#place-answer")[1:] == pytest.approx(answer(flows, areas, "origin", name)[1:])


def test_search(folders, browser):
    """The list finds names, in any case, and says when there are none."""
    with open_page(browser, (folders / "ward" / "report.html").as_uri(), **WIDE) as page:
        page.locator("#areas-section summary").click()
        first = page.locator("#areas button").first.inner_text()
        page.fill("#filter", first.upper())
        assert first in page.locator("#areas").inner_text()
        page.fill("#filter", "harlem")
        assert "No origin area" in page.text_content("#found")


def test_csv(folders, browser):
    """The table of flows is that of the folder."""
    folder = folders / "ward"
    flows, _ = (list(rows) for rows in read(folder))
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.locator("#areas-section summary").click()
        with page.expect_download() as download:
            page.click("#flows-csv")
        rows = list(csv.DictReader(download.value.path().read_text().splitlines()))

    found = {(row["origin"], row["destination"], int(row["trips"]), int(row["persons"])) for row in rows}
    assert found == {(row["origin"], row["destination"], row["trips"], row["persons"]) for row in flows}


def test_names_of_no_place(folders, browser):
    """What has no place on the map, such as elsewhere, is still there to be chosen."""
    folder = folders / "city"
    flows, areas = (list(rows) for rows in read(folder))
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.get_by_role("radio", name="Destinations").check()
        page.get_by_role("button", name=re.compile(f"^{names(areas)['elsewhere']}")).click()

        expected = sum(row["trips"] for row in flows if row["destination"] == "elsewhere")
        assert told(page, "#place-answer") == (expected, expected, expected)


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width(folders, browser, width, scheme):
    """Nothing is wider than the screen, and the colors follow the reader's."""
    view = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with open_page(browser, (folders / "city" / "report.html").as_uri(), **view) as page:
        page.wait_for_function("window.flowveil")

        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_a_phone_scrolls_over_the_map(folders, browser):
    """One finger on the map moves the page, not the map; a touch chooses a place."""
    view = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with open_page(browser, (folders / "city" / "report.html").as_uri(), **view) as page:
        page.wait_for_function("window.flowveil")
        frame = page.locator("#map")
        frame.scroll_into_view_if_needed()
        assert frame.evaluate("(map) => getComputedStyle(map).touchAction") == "pan-x pan-y"
        place = page.evaluate("flowveil.map.x")
        box = frame.bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert page.locator("#place-answer").is_visible()
        assert page.evaluate("flowveil.map.x") == place


def test_keys(folders, browser, tmp_path):
    """Steps of time are a bar to click, to walk along and to play; colors mean the same in each."""
    folder = folders / "city"
    flows, areas = (pq.read_table(folder / f"{name}.parquet") for name in ("flows", "areas"))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["options"]["time"] = "hour-of-day"
    hours = [row % 24 for row in range(flows.num_rows)]
    path = tmp_path / "keys.html"
    path.write_text(
        draw_page(
            Files(
                Kind.FLOWS,
                {"flows.parquet": flows.append_column("time", [hours]), "areas.parquet": areas},
                manifest,
            )
        )
    )
    trips = flows["trips"].to_pylist()
    with open_page(browser, path.as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        bar = page.locator(".time-bars").bounding_box()
        page.mouse.click(bar["x"] + bar["width"] * 7.5 / 24, bar["y"] + 30)

        assert number(page, "#shown-amount") == sum(trips[7::24])
        assert page.text_content("#time-label") == f"07:00: {sum(trips[7::24]):,} trips"
        assert page.evaluate("location.hash") == "#key-time=07%3A00"
        scale = page.evaluate("[flowveil.explorer.range.low, flowveil.explorer.range.high]")
        page.focus(".time-bars")
        page.keyboard.press("ArrowRight")
        assert number(page, "#shown-amount") == sum(trips[8::24])
        assert page.evaluate("[flowveil.explorer.range.low, flowveil.explorer.range.high]") == scale
        page.click("#all-times")
        assert number(page, "#shown-amount") == sum(trips)
        page.click("#play")
        wait_for(lambda: page.evaluate("flowveil.explorer.state.choice[0]") >= 2)
        page.click("#play")
        page.select_option("#compare", "parts of the day")
        assert "compare=parts+of+the+day" in page.evaluate("location.hash")
        night = page.locator(".small h3").first.inner_text()
        assert f"{float(f'{sum(sum(trips[hour::24]) for hour in range(6)):.3g}'):,.0f} trips" in night


def test_noise(browser, city_trips, tmp_path):
    """A sum has its error, and so has a place; what is no more than noise is hatched."""
    release = fv.add_noise(fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:7"), epsilon=0.2)
    release.write(tmp_path / "noisy", report=True)
    flows, areas = (list(rows) for rows in read(tmp_path / "noisy"))
    factor = np.log(20) / np.sqrt(2)

    def error(rows):
        return factor * np.sqrt(sum(2 * row["scale"] ** 2 for row in rows))

    with open_page(browser, (tmp_path / "noisy" / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        amount = page.text_content("#shown-amount")
        assert amount.startswith(f"{sum(row['trips'] for row in flows):,} ± ")
        assert number(page, "#shown-amount") == sum(row["trips"] for row in flows)
        told_error = int(amount.split("± ")[1].split()[0].replace(",", ""))
        assert told_error == pytest.approx(error(flows), rel=0.01)
        place = a_place(flows, areas, "origin")
        name = smallest(areas, "origin", *place)
        page.locator("#map").scroll_into_view_if_needed()
        page.mouse.click(*on_screen(page, *place))
        about, low, high = told(page, "#place-answer")
        outline = shapes(areas, "origin")
        inside = [row for row in flows if outline[row["origin"]].within(outline[name].buffer(1e-4))]
        assert low == pytest.approx(max(0, sum(row["trips"] for row in inside) - error(inside)), abs=1)
        assert low <= about <= high
        page.focus("#map")
        page.keyboard.press("Escape")
        hatched = page.evaluate(
            """() => {
                const {raster} = flowveil.map;
                let unsure = 0, sure = 0;
                raster.density.forEach((value, place) => {
                    if (raster.variance[place] > 0)
                        value < 2.1183 * Math.sqrt(raster.variance[place]) ? unsure++ : sure++;
                });
                return [unsure, sure];
            }"""
        )
        assert min(hatched) > 0


def test_remainders(browser, city_trips, tmp_path):
    """All other trips of two areas lie on pairs of cells that no finer flow has, on the map and in a place's answer."""
    import h3

    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX, unit="person_id", hierarchy="h3")
    folder = fv.anonymize(flows, remainders=True, max_suppression=0.02).write(tmp_path / "out", report=True)
    rows, areas = (list(rows) for rows in read(folder))
    assert sum(row["remainder"] for row in rows) > 5

    def inside(area):
        return frozenset([area] if h3.get_resolution(area) == 6 else h3.cell_to_children(area, 6))

    cells = {row["area"]: inside(row["area"]) for row in areas if row["area"] != "world"}
    rows = [row for row in rows if "world" not in (row["origin"], row["destination"])]
    expected = Counter()
    for row in sorted(rows, key=lambda row: len(cells[row["origin"]]) * len(cells[row["destination"]])):
        pairs = {(start, end) for start in cells[row["origin"]] for end in cells[row["destination"]]}
        if row["remainder"]:
            finer = (
                other
                for other in rows
                if other is not row
                and cells[other["origin"]] <= cells[row["origin"]]
                and cells[other["destination"]] <= cells[row["destination"]]
            )
            for other in finer:
                pairs -= {(start, end) for start in cells[other["origin"]] for end in cells[other["destination"]]}
        for start, _ in pairs:
            expected[start] += row["trips"] / len(pairs)

    tiles = sorted(expected)
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        shown = page.evaluate(
            "(places) => places.map(([lat, lon]) => flowveil.density(lon, lat))",
            [h3.cell_to_latlng(cell) for cell in tiles],
        )
        told_of = page.evaluate(
            """() => {
                const {explorer, scene} = flowveil, {model, tally} = explorer;
                return Object.fromEntries(scene.ids.map((id, row) => [id, row])
                    .filter(([, row]) => scene.side[row] === 0 && scene.outline[row] >= 0)
                    .map(([id, row]) => [id, model.answer(tally, row, 0).about]));
            }"""
        )

    sizes = np.array([h3.cell_area(cell) for cell in tiles])
    true = np.array([expected[cell] for cell in tiles])
    assert np.abs(np.array(shown) * sizes - true).sum() / true.sum() < 0.05  # children stick out of their parents
    finest = [cell for cell in told_of if h3.get_resolution(cell) == 6]
    off = sum(abs(told_of[cell] - expected[cell]) for cell in finest)
    assert off / sum(expected[cell] for cell in finest) < 0.1


def test_trajectories(browser, tmp_path):
    """Presence at a time is what the samples of that time spread over their boxes; a group has its path."""
    pq.write_table(phones(40), tmp_path / "samples.parquet")
    release = trajectories.anonymize(str(tmp_path / "samples.parquet"), 4, bbox=PHONES_BBOX)
    folder = release.write(tmp_path / "paths", report=True)
    table = pq.read_table(folder / "trajectories.parquet").to_pylist()
    geod = Geod(ellps="WGS84")
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        first, step = page.evaluate("[flowveil.scene.keys[0].values[0], flowveil.scene.json.samples.step]")
        begin = datetime.fromisoformat(first)
        chosen = 8
        page.evaluate(f"flowveil.explorer.choose(0, {chosen})")
        west, south, east, north = PHONES_BBOX
        spot = ((west + east) / 2, (south + north) / 2)
        shown = page.evaluate("([lon, lat]) => flowveil.density(lon, lat)", spot)
        expected = 0.0
        for row in table:
            area = shapely.box(row["lon0"], row["lat0"], row["lon1"], row["lat1"])
            start, end = ((row[name].replace(tzinfo=None) - begin).total_seconds() / step for name in ("t0", "t1"))
            part = max(0, min(end, chosen + 1) - max(start, chosen)) / (end - start) if end > start else 0
            if part and area.contains(shapely.Point(*spot)):
                expected += row["size"] * part / (abs(geod.geometry_area_perimeter(area)[0]) / 1e6)
        assert shown == pytest.approx(expected, rel=0.01)
        page.click("#all-times")
        page.locator("#place button.link").first.click()
        group = int(re.search(r"Group (\d+)", page.text_content("#group-users"))[1])
        samples = [row for row in table if row["group"] == group]
        assert number(page, "#place .muted") == len(samples)
        assert page.evaluate("flowveil.map.path.length") == len(samples)
        assert page.evaluate("location.hash") == f"#group={group}"
        begins = sorted(f"{row['t0']:%Y-%m-%d %H:%M}" for row in samples)[:60]
        assert page.locator("#place tbody button").all_text_contents() == begins
        assert any(not text.endswith(":00") for text in begins)

        spans = sorted(
            [(row[name].replace(tzinfo=None) - begin).total_seconds() / step for name in ("t0", "t1")]
            for row in samples
        )
        busy = {value for start, end in spans for value in range(int(start), math.ceil(end))}
        now = "[flowveil.explorer.state.choice[0], flowveil.map.path.length, flowveil.map.marked.length]"
        page.click("#play")
        wait_for(lambda: page.evaluate(now)[0] > min(busy))
        page.click("#play")
        value, grown, marked = page.evaluate(now)
        assert value in busy
        assert grown == sum(start < value + 1 for start, _ in spans)
        assert marked == sum(start < value + 1 and end > value for start, end in spans)


def test_layers_of_a_context(folders, browser, tmp_path):
    """The legend has the layers that can be seen, each drawn in a way of its own, on the map as in the key."""
    west, south, east, north = CITY_BBOX
    across = f"LINESTRING ({west} {south}, {east} {north})"
    park = shapely.box(west, south, (west + east) / 2, (south + north) / 2).wkt
    shown = [("park", park), ("rail", across), ("road", across), ("river", across), ("other", across), ("shop", park)]
    far = [("border", "LINESTRING (100 10, 101 11)")]
    table = pa.table(dict(zip(("layer", "geometry"), map(list, zip(*shown, *far, strict=True)), strict=True)))
    folder = tmp_path / "city"
    shutil.copytree(folders / "city", folder)
    fv.report(folder, context=table, overwrite=True)
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        assert page.locator(".layers span").all_text_contents() == ["park", "rail", "road", "river", "other"]
        pens = page.locator(".layers svg > *").evaluate_all(
            """all => all.map((one) =>
                ['stroke', 'stroke-width', 'stroke-dasharray'].map((name) => one.getAttribute(name)).join())"""
        )
        assert len(set(pens)) == len(pens)
    with open_page(browser, (folders / "city" / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        assert page.locator(".layers").count() == 0


def test_private(folders, browser, city_trips):
    """The banner stays in sight wherever the reader scrolls, and on paper; all of the page works."""
    path = fv.report(folders / "city", city_trips)
    with open_page(browser, path.as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        banner = page.locator(".private-banner")
        for part in ("private-section", "map-section", "made-title"):
            page.evaluate(f"document.getElementById('{part}').scrollIntoView()")
            place = banner.bounding_box()
            assert "PRIVATE" in banner.inner_text()
            assert 0 <= place["y"] < 100
        color = banner.evaluate("(element) => getComputedStyle(element).backgroundColor")
        red, green, blue = map(int, re.findall(r"\d+", color))
        assert red > 3 * max(green, blue)
        page.emulate_media(media="print")
        assert banner.evaluate("(element) => getComputedStyle(element).position") == "fixed"
        assert banner.evaluate("(element) => getComputedStyle(element).color") == color
        page.emulate_media(media="screen")
        before, after = page.evaluate("[flowveil.maps[1].weights.length, flowveil.maps[2].weights.length]")
        _, areas = (list(rows) for rows in read(folders / "city"))
        assert after == len(shapes(areas, "origin"))  # nothing but the release
        assert before > after
        assert re.match(r"\d+\.\d % of the trips by origin stand somewhere else", page.text_content("#distance"))
        figures = fv.evaluate(folders / "city", city_trips)
        assert number(page, '[data-metric="flows"]') == figures["flows"]
    path.unlink()


def test_prints(folders, browser):
    """Paper gets light colors and a sharp map, whatever the screen had, and the screen comes back."""
    view = WIDE | {"color_scheme": "dark"}
    with open_page(browser, (folders / "city" / "report.html").as_uri(), **view) as page:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        paper = page.evaluate("[document.documentElement.dataset.theme, flowveil.map.ratio]")
        page.evaluate("dispatchEvent(new Event('afterprint'))")

        assert paper == ["light", 3]
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.pdf().startswith(b"%PDF")


def test_notebook_frame(folders, browser, tmp_path):
    """The frame of a notebook draws its map with no more than scripts allowed."""
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{fv.read_release(folders / 'city')._repr_html_()}")
    with open_page(browser, path.as_uri(), **WIDE) as page:
        frame = page.frame_locator("iframe")

        assert frame.locator("#shown-amount").text_content().endswith("trips")
        assert frame.locator("#figures-title").is_hidden()


def test_speed_is_told(browser, tmp_path, capsys):
    """5,000 areas and 2,000 flows: what a frame takes is printed, not asserted, since machines differ."""
    path = tmp_path / "large.html"
    path.write_text(draw_page(large_release(areas=5_000, flows=30_000, corners=7)))
    with open_page(browser, path.as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        started = page.evaluate("flowveil.started")
        density = page.evaluate(PAN)
        page.evaluate("flowveil.explorer.change({layer: 'flows', lines: 2000})")
        drawn = page.evaluate("flowveil.drawn()")
        moved = page.evaluate(PAN)
        areas, lines = page.evaluate("[flowveil.scene.ids.length, flowveil.map.lines.length]")

    with capsys.disabled():
        print(  # noqa: T201  a measurement
            f"\nreport of {areas:,} areas and {lines:,} lines: first picture {started:.0f} ms, panning the "
            f"density {density[10]:.0f} ms a frame; with lines a frame {drawn:.0f} ms, panning {moved[10]:.0f} ms"
        )
    assert (areas, lines) == (10_000, 2_000)
