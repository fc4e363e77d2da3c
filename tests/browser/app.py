"""What users do in the web app, as steps of a test."""

from __future__ import annotations

import shutil
import zipfile
from contextlib import contextmanager

import httpx

from tests.browser.chromium import open_page
from tests.waiting import QUIET


@contextmanager
def opened(browser, address, **context):
    """Open the page with nothing of other tests left on the server."""
    own, token = address.split("/#token=")
    httpx.delete(f"{own}/api/state", headers={"authorization": f"Bearer {token}"}, timeout=QUIET).raise_for_status()
    with open_page(browser, address, **context) as page:
        yield page


def kept(page, address):
    """Return what the server keeps for the page, which gets a turn to send it: its requests pass through here."""
    page.wait_for_timeout(100)
    own, token = address.split("/#token=")
    return httpx.get(f"{own}/api/state", headers={"authorization": f"Bearer {token}"}, timeout=QUIET).json()


def go(page, step):
    """Go to a step, by its number from 1."""
    page.locator(".step-button").nth(step - 1).click()


def choose(page, path):
    """Give the page a file of trips, and wait until it is counted."""
    page.get_by_label("Choose a file of trips").first.set_input_files(path)
    page.locator(".facts dd").first.wait_for()


def tag(page, column, meaning):
    """Say what a column is."""
    page.get_by_label(f"What {column} is", exact=True).select_option(label=meaning)


def anonymize(page):
    """Make a release and wait for its figures."""
    page.locator("#run").click()
    page.locator(".figures dd").first.wait_for()


def cells(page, resolution):
    """Choose the size of cells."""
    go(page, 2)
    page.locator("#resolution").fill(str(resolution))


def download(page, button, path):
    """Click and keep what comes."""
    with page.expect_download() as coming:
        page.locator(button).click()
    coming.value.save_as(path)
    return path


def unzipped(path):
    """Return the files of a zip."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def shown_map(page, inside=".explore"):
    """Return the frame with a map once it is drawn."""
    frame = page.frame_locator(f"{inside} iframe:visible")
    frame.locator("#shown-amount").wait_for()
    return frame


def choose_zones(page, trips, folder):
    """Give trips between zones, and then their zones."""
    for name, source in (("trips.parquet", trips), ("zones.parquet", trips.with_name("zones.parquet"))):
        shutil.copy(source, folder / name)
    page.get_by_label("Choose a file of trips").first.set_input_files(folder / "trips.parquet")
    page.get_by_role("button", name="Go to step 2").click()
    page.get_by_label("Choose a file of zones").set_input_files(folder / "zones.parquet")
    page.locator(".note b", has_text="zones.parquet").wait_for()


def where(shown):
    """Return the middle of a map and how large it is."""
    return shown.evaluate("() => Object.values(flowveil.map.where).map((value) => Number(value.toPrecision(9)))")


def drawn_colors(frame):
    """Return how many colors the map has: one if nothing is drawn."""
    return frame.locator("#map").evaluate(
        """(canvas) => {
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
