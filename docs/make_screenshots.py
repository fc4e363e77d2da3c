"""Draw the pictures of the web app and of reports: `python docs/make_screenshots.py [NAME ...]`.

It needs the extras `test` and `web`, Pillow, pypdfium2 and Chromium. Reports are drawn from public data (see
benchmarks/data.py), of which a picture of a release is all that is kept; without these data their pictures stay.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pyarrow.parquet as pq
import pypdfium2
from PIL import Image
from playwright.sync_api import sync_playwright

import flowveil as fv
from flowveil import trajectories
from flowveil.synthetic import PHONES_BBOX, phones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).parent / "pictures"
DATA = Path(__file__).parents[2] / "shared" / "data"
CABS_BBOX = (-122.53, 37.59, -122.35, 37.83)
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_PATIENCE = 600_000  # milliseconds for a release of the demo city
_DRAWN = 1_500  # milliseconds until a map without a graphics card stands still
_DESK = {"width": 1280, "height": 1080}
_PHONE = {"width": 390, "height": 844}


def main(wanted: list[str]) -> None:
    """Draw the pictures with these names, or all of them."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        if not wanted or {"app", "app-compare"} & set(wanted):
            draw_app(browser)
        if DATA.is_dir():
            draw_reports(browser, Path(folder), wanted)
        browser.close()


def keep(page: Page, name: str) -> None:
    """Keep what a page shows, or what it prints, with a third of the bytes."""
    page.wait_for_timeout(_DRAWN)
    if name.endswith("-print"):
        picture = pypdfium2.PdfDocument(page.pdf(format="A4", print_background=True))[0].render(scale=1.4).to_pil()
    else:
        picture = Image.open(BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE).save(PICTURES / f"{name}.png", optimize=True)


# The web app


def draw_app(browser: Browser) -> None:
    """Make releases of the demo city in the app: one alone, and two side by side."""
    with _server() as address:
        for scheme, name in (("light", "app"), ("dark", "app-compare")):
            own, token = address.split("/#token=")
            httpx.delete(f"{own}/api/state", headers={"authorization": f"Bearer {token}"}).raise_for_status()
            context = browser.new_context(viewport={"width": 1280, "height": 960}, color_scheme=scheme)
            context.set_default_timeout(_PATIENCE)
            page = context.new_page()
            page.goto(address)
            page.locator("#demo").click()
            page.locator(".facts dd").first.wait_for()
            page.locator("#run").click()
            page.locator(".figures dd").first.wait_for()
            if name == "app-compare":
                page.get_by_text("Compare", exact=True).click()
                page.locator("#run-other").click()
                page.locator(".compare table").wait_for()
            keep(page, name)
            context.close()


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-m", "flowveil", "serve", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        try:
            yield found.group() if found else ""
        finally:
            server.terminate()


# Reports of public data


def draw_reports(browser: Browser, folder: Path, wanted: list[str]) -> None:
    """Draw reports, each of a release that is made for it."""
    made: dict[str, Path] = {}
    for name, (release, view, scheme, act) in REPORTS.items():
        if wanted and name not in wanted:
            continue
        if release not in made:
            made[release] = RELEASES[release](folder / release) / "report.html"
        context = browser.new_context(viewport=view, color_scheme=scheme)
        page = context.new_page()
        page.goto(made[release].as_uri())
        page.wait_for_function("window.flowveil")
        act(page)
        keep(page, name)
        context.close()


def new_york(folder: Path, **more: object) -> Path:
    """Green taxis between zones, k = 10 trips."""
    trips, zones = DATA / "nyc_tlc_green_trips_2020_2025.parquet", DATA / "nyc_taxi_zones.parquet"
    columns = {"origin": "origin_zone", "destination": "destination_zone"}
    known = "origin_zone < 264 and destination_zone < 264"
    source = fv.read_trips(str(trips), columns=columns, where=known)
    flows = fv.build_flows(source, zones=str(zones), hierarchy="ward", **more)
    release = fv.anonymize(flows, title="Green taxis of New York", period="2020 to 2025", publisher="An example")
    return release.write(folder, report=True)


def new_york_by_hour(folder: Path) -> Path:
    """Do the same by hour of the day."""
    return new_york(folder, time="hour-of-day")


def san_francisco(folder: Path) -> Path:
    """Cabs between hexagons, k = 10 cabs."""
    flows = fv.build_flows(DATA / "sf_cabspotting_trips.parquet", "h3:9", bbox=CABS_BBOX, unit="vehicle_id")
    said = {"title": "Cabs of San Francisco", "period": "May to June 2008", "unit_label": "cabs"}
    return fv.anonymize(flows, **said, publisher="An example").write(folder, report=True)


def noisy_san_francisco(folder: Path) -> Path:
    """Cabs between hexagons, with noise on every pair."""
    cabs = DATA / "sf_cabspotting_trips.parquet"
    matrix = fv.build_tile_matrix(cabs, CABS_BBOX, "h3:7", unit="vehicle_id", max_trips_per_person=400)
    return fv.add_noise(matrix, epsilon=8.0, title="Cabs of San Francisco, with noise").write(folder, report=True)


def phone_records(folder: Path) -> Path:
    """Made-up phone records as trajectories that four users share."""
    samples = folder.with_suffix(".parquet")
    pq.write_table(phones(200), samples)
    return trajectories.anonymize(str(samples), 4, bbox=PHONES_BBOX).write(folder, report=True)


def _nothing(page: Page) -> None:
    """Leave the page as it opens."""


def _map(page: Page) -> None:
    page.locator("#map-section").evaluate("(part) => part.scrollIntoView()")


def _place(page: Page) -> None:
    page.locator("#place button.link").first.click()
    _map(page)


def _hours(page: Page) -> None:
    page.evaluate("flowveil.explorer.choose(0, 18)")
    page.select_option("#compare", "parts of the day")
    _map(page)


def _group(page: Page) -> None:
    page.locator("#place button.link").first.click()
    _map(page)


RELEASES: dict[str, Callable[[Path], Path]] = {
    "new-york": new_york,
    "new-york-by-hour": new_york_by_hour,
    "san-francisco": san_francisco,
    "noisy-san-francisco": noisy_san_francisco,
    "phone-records": phone_records,
}
REPORTS: dict[str, tuple[str, dict[str, int], str, Callable[[Page], None]]] = {
    "report-light": ("new-york", _DESK, "light", _nothing),
    "report-phone": ("new-york", _PHONE, "light", _map),
    "report-dark": ("san-francisco", _DESK, "dark", _place),
    "report-print": ("san-francisco", _DESK, "dark", _nothing),
    "report-time": ("new-york-by-hour", {"width": 1280, "height": 1300}, "light", _hours),
    "report-noise": ("noisy-san-francisco", _DESK, "light", _map),
    "report-trajectories": ("phone-records", _DESK, "light", _group),
}


if __name__ == "__main__":
    main(sys.argv[1:])
