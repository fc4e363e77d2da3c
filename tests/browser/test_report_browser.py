"""The report as readers meet it, in a real browser without a network; every page fails on an error in its console."""

from __future__ import annotations

import json
import re

import pyarrow.parquet as pq
import pytest
import shapely

import flowveil as fv
from flowveil._folder import Files, Kind
from flowveil.synthetic import CITY_BBOX
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


def on_screen(page, lon, lat):
    """Return where a place is in the window."""
    spot = page.evaluate("([lon, lat]) => flowveil.map.toScreen(flowveil.map.local(lon, lat))", [lon, lat])
    frame = page.locator("#map").bounding_box()
    return frame["x"] + spot["x"], frame["y"] + spot["y"]


def holding(areas, side, lon, lat):
    """Return the ids of the areas of a side that hold a place, by shapely."""
    point = shapely.Point(lon, lat)
    shaped = [row for row in areas if row["side"] == side and row["geometry"] is not None]
    return {row["area"] for row in shaped if shapely.from_wkb(row["geometry"]).contains(point)}


def a_place(flows, areas, side):
    """Return the center of the busiest area of a side that has an outline around it."""
    center = {row["area"]: row for row in areas if row["side"] == side and row["geometry"] is not None}
    for row in sorted(flows, key=lambda row: -row["trips"]):
        area = center.get(row[side])
        if area is not None and area["area"] in holding(areas, side, area["lon"], area["lat"]):
            return area["lon"], area["lat"]
    raise AssertionError


def test_totals(opened):
    """What the page says at first is the sum of the folder."""
    page, folder = opened
    flows, _ = read(folder)
    flows = list(flows)

    assert number(page, "#shown-amount") == sum(row["trips"] for row in flows)
    assert number(page, "#shown-count") == len(flows)
    assert number(page, '[data-figure="smallest_persons"]') == min(row["persons"] for row in flows)


@pytest.mark.parametrize("side", ["origin", "destination"])
def test_click_a_place(opened, side):
    """A click shows all flows that leave (or reach) the place, whatever areas they have there."""
    page, folder = opened
    flows, areas = (list(rows) for rows in read(folder))
    place = a_place(flows, areas, side)
    if side == "destination":
        page.get_by_role("radio", name="Destinations").check()
    page.locator("#map").scroll_into_view_if_needed()

    page.mouse.click(*on_screen(page, *place))

    expected = [row for row in flows if row[side] in holding(areas, side, *place)]
    assert number(page, "#place-amount") == sum(row["trips"] for row in expected)
    assert number(page, "#place-count") == len(expected)
    listed = page.locator("#place tr[data-flow]").first.inner_text()
    strongest = max(expected, key=lambda row: row["trips"])
    assert f"{strongest['trips']:,}" in listed
    page.keyboard.press("Escape")
    assert number(page, "#shown-count") == len(flows)


def test_hover(opened):
    """The label of a place names the smallest area there, and counts its trips."""
    page, folder = opened
    flows, areas = (list(rows) for rows in read(folder))
    place = a_place(flows, areas, "origin")
    page.locator("#map").scroll_into_view_if_needed()

    page.mouse.move(*on_screen(page, *place))

    held = holding(areas, "origin", *place)
    by_id = {row["area"]: row for row in areas if row["side"] == "origin"}
    smallest = min(held, key=lambda area: shapely.from_wkb(by_id[area]["geometry"]).area)
    text = page.text_content("#tip")
    assert smallest in text
    assert f"{sum(row['trips'] for row in flows if row['origin'] == smallest):,} trips" in text
    page.mouse.move(5, 5)
    assert page.locator("#tip").is_hidden()


def test_switch_layers(opened):
    """Sides, colors, lines and theme change what is drawn."""
    page, folder = opened
    _, areas = (list(rows) for rows in read(folder))
    drawn = page.locator("#map")

    pictures = [drawn.screenshot()]

    def draw_anew():
        wait_for(lambda: drawn.screenshot() not in pictures)
        page.wait_for_timeout(100)
        pictures.append(drawn.screenshot())

    for action in ("Destinations", "Size"):
        page.get_by_role("radio", name=action).check()
        draw_anew()
    page.select_option("#lines", "0")
    draw_anew()
    page.click("#theme")
    draw_anew()

    assert len(set(pictures)) == len(pictures)
    destinations = [row for row in areas if row["side"] == "destination" and row["geometry"] is not None]
    assert page.evaluate("flowveil.map.fills.length") == len(destinations)
    assert page.evaluate("flowveil.map.lines.length") == 0
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_keyboard(opened):
    """All of it works without a mouse: the map, and the list of areas."""
    page, folder = opened
    flows, _ = (list(rows) for rows in read(folder))
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
    assert number(page, "#place-amount") == sum(row["trips"] for row in flows if row["origin"] == first.inner_text())


def test_names_of_no_place(folders, browser):
    """What has no place on the map, such as elsewhere, is still there to be chosen."""
    folder = folders / "city"
    flows, _ = (list(rows) for rows in read(folder))
    with open_page(browser, (folder / "report.html").as_uri(), **WIDE) as page:
        page.get_by_role("radio", name="Destinations").check()
        page.get_by_role("button", name=re.compile("^elsewhere")).click()

        expected = sum(row["trips"] for row in flows if row["destination"] == "elsewhere")
        assert number(page, "#place-amount") == expected


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_width(folders, browser, width, scheme):
    """Nothing is wider than the screen, and the colors follow the reader's."""
    view = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with open_page(browser, (folders / "city" / "report.html").as_uri(), **view) as page:
        page.wait_for_function("window.flowveil")

        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_keys(folders, browser, tmp_path):
    """A selector for each column that divides a release."""
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
    with open_page(browser, path.as_uri(), **WIDE) as page:
        page.select_option("#key-0", label="07:00")

        assert number(page, "#shown-amount") == sum(flows["trips"].to_pylist()[7::24])
        page.select_option("#key-0", label="all")
        assert number(page, "#shown-amount") == sum(flows["trips"].to_pylist())


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
        page.evaluate("(flowveil.explorer.lines = 2000, flowveil.explorer.refresh())")
        drawn = page.evaluate("flowveil.drawn()")
        moved = page.evaluate(PAN)
        areas, lines = page.evaluate("[flowveil.map.fills.length, flowveil.map.lines.length]")
        started = page.evaluate("flowveil.started")

    with capsys.disabled():
        print(  # noqa: T201  a measurement
            f"\nreport of {areas:,} areas and {lines:,} lines: first picture {started:.0f} ms, a frame {drawn:.0f} ms, "
            f"while panning {moved[10]:.0f} ms"
        )
    assert (areas, lines) == (pytest.approx(5_000, rel=0.01), 2_000)
