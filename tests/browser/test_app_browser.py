"""The web app in a real browser: from a file to a release, side by side, canceled, attacked."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from flowveil._cli.commands import run
from tests.browser.chromium import open_page
from tests.waiting import wait_for

HOSTILE = '<img src=x onerror="document.title=1">'


@pytest.fixture(scope="module")
def address():
    """Start flowveil serve and return the address it prints."""
    command = [sys.executable, "-m", "flowveil", "serve", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield re.search(r"http://\S+", server.stdout.readline()).group()
        server.terminate()


def choose(page, path):
    """Give the page a file of trips, and wait until it is counted."""
    page.get_by_label("Choose a file of trips").first.set_input_files(path)
    page.locator(".facts dd").first.wait_for()


def anonymize(page):
    """Make a release and wait for its figures."""
    page.locator("#run").click()
    page.locator(".figures dd").first.wait_for()


def drawn_colors(page):
    """Return how many colors the map has: one if nothing is drawn."""
    return page.evaluate(
        """async () => {
            const canvas = document.querySelector('.explore canvas');
            const copy = document.createElement('canvas');
            [copy.width, copy.height] = [canvas.width, canvas.height];
            const context = copy.getContext('2d');
            await new Promise((done) => requestAnimationFrame(done));
            context.drawImage(canvas, 0, 0);
            const {data} = context.getImageData(0, 0, copy.width, copy.height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )


class TestPage:
    """What users do."""

    def test_from_file_to_release(self, browser, address, city_trips, tmp_path, monkeypatch):
        """A file is dropped, settings are chosen, and the download is what the shown command writes."""
        trips = tmp_path / "my trips.csv"
        pyarrow.csv.write_csv(pq.read_table(city_trips), trips)
        with open_page(browser, address, accept_downloads=True) as page:
            choose(page, trips)
            assert "token" not in page.url
            assert page.get_by_label("k counts").input_value() == "person_id"
            page.get_by_label("k as a number").fill("5")
            page.get_by_label("k as a number").press("Enter")
            page.locator("#resolution").fill("8")
            page.locator(".frontier .dot").first.wait_for(state="attached")
            before = page.locator(".reading dd").first.inner_text()
            page.locator("#budget").fill("200")
            assert page.locator(".reading dd").first.inner_text() != before  # at once: nothing is asked of the server
            page.locator(".command code", has_text="--max-suppression 0.2").wait_for()
            command = page.locator(".command code").inner_text()
            anonymize(page)
            assert page.locator(".verified .badge").inner_text() == "✓ verified"
            assert page.locator(".its-command").text_content() == command
            flows = int(page.locator(".figures dd").first.inner_text().replace(",", ""))
            with page.expect_download() as download:
                page.locator("#download").click()
            download.value.save_as(tmp_path / "release.zip")
        monkeypatch.chdir(tmp_path)
        assert run(shlex.split(command)[1:]) == 0

        with zipfile.ZipFile(tmp_path / "release.zip") as archive:
            found = {name: archive.read(name) for name in archive.namelist()}

        assert found == {f"out/{path.name}": path.read_bytes() for path in (tmp_path / "out").iterdir()}
        assert pq.read_table(tmp_path / "out" / "flows.parquet").num_rows == flows

    def test_explore_and_compare(self, browser, address, city_trips):
        """The map is drawn; a place can be chosen from the list; two methods stand side by side."""
        with open_page(browser, address, viewport={"width": 1240, "height": 700}) as page:
            choose(page, city_trips)
            page.locator("#resolution").fill("8")
            anonymize(page)
            assert page.locator(".no-map").count() == 0
            wait_for(lambda: drawn_colors(page) > 50)
            assert drawn_colors(page) > 50
            page.locator(".flow").first.click()
            page.get_by_text("Leaving", exact=True).click()
            place = page.locator(".flow code").first.inner_text()
            starts = page.locator(".flow code:first-child").all_inner_texts()
            assert set(starts) == {place}
            page.get_by_text("Compare", exact=True).click()
            page.get_by_label("Method to compare with").select_option("crosscut")
            page.locator("#run-other").click()
            page.locator(".compare table").wait_for()
            heads = page.locator(".compare thead th").all_inner_texts()
            flows = page.locator(".compare tbody tr").first.locator("td").all_inner_texts()

        assert [head.split(",")[0] for head in heads] == ["mosaic", "crosscut"]
        numbers = [int(re.sub(r"\D", "", text)) for text in flows]
        assert numbers[0] > numbers[1] > 0

    def test_cancel(self, browser, address):
        """A job can be canceled; the page says so by being ready again."""
        with open_page(browser, address) as page:
            page.locator("#demo").click()
            page.locator(".facts dd").first.wait_for()
            page.locator("#resolution").fill("11")
            page.locator("#run").click()
            page.locator("#cancel").click()
            page.locator("#run:visible").wait_for()
            page.locator(".doing").wait_for(state="hidden")
            page.wait_for_timeout(700)
            assert page.locator(".doing").is_hidden()  # nothing was started again
            assert page.locator(".results").is_hidden()
            assert page.locator(".trouble").is_hidden()

    def test_hostile_file(self, browser, address, tmp_path):
        """Markup in names of files and columns is text; a file that is no table is refused with a hint."""
        name = "<img src=x onerror=document.title=1>.csv"
        quoted = HOSTILE.replace('"', '""')
        header = f'start_lon,start_lat,end_lon,end_lat,"{quoted}"\n'
        (tmp_path / name).write_text(header + "4.5,50.3,4.6,50.4,1\n" * 30)
        (tmp_path / "page.csv").write_text("<script>document.title=1</script>\n<html>\n")
        (tmp_path / "fake.parquet").write_text("<html>")
        with open_page(browser, address, allowed="400 (Bad Request)") as page:
            choose(page, tmp_path / name)
            assert page.locator(".file-name b").inner_text() == name
            page.get_by_text("5 columns").click()
            assert page.locator(".chips code").all_inner_texts()[-1] == HOSTILE
            page.get_by_label("Another file").set_input_files(tmp_path / "fake.parquet")
            page.locator(".trouble p").wait_for()
            assert page.locator(".trouble").inner_text().startswith("'fake.parquet' is not a .parquet file")
            page.get_by_label("Another file").set_input_files(tmp_path / "page.csv")
            page.locator(".chips code", has_text="<script>document.title=1</script>").wait_for()
            assert page.locator(".badge.warn").inner_text() == "choose"
            assert page.title() == "flowveil"
            assert page.locator("img").count() == 1  # the mark

    def test_problems(self, browser, address, tmp_path):
        """Exchanged coordinates are noticed and mended with a click."""
        trips = tmp_path / "swapped.csv"
        rows = "50.3,140.5,50.4,140.6\n" * 30
        trips.write_text(f"start_lon,start_lat,end_lon,end_lat\n{rows}")
        with open_page(browser, address) as page:
            page.get_by_label("Choose a file of trips").first.set_input_files(trips)
            page.get_by_role("button", name="Exchange them").click()
            page.locator(".note.good").wait_for()
            assert page.locator(".note.good").inner_text() == "All 30 rows can be used."

    def test_zones(self, browser, address, city_zone_trips, tmp_path):
        """Trips between zones ask for zones, which join by columns of their file."""
        shutil.copy(city_zone_trips, tmp_path / "trips.parquet")
        with open_page(browser, address) as page:
            page.get_by_label("Choose a file of trips").first.set_input_files(tmp_path / "trips.parquet")
            page.get_by_label("Choose a file of zones").set_input_files(city_zone_trips.with_name("zones.parquet"))
            page.locator(".note b", has_text="zones.parquet").wait_for()
            page.get_by_label("How zones join").select_option("columns")
            page.get_by_label("Columns from fine to coarse").fill("zone_id, district, region")
            page.get_by_label("Columns from fine to coarse").press("Enter")
            page.locator(".command code", has_text="--hierarchy zone_id,district,region").wait_for()
            anonymize(page)
            assert "=" in page.locator(".flow code").first.inner_text()

    def test_without_the_token(self, browser, address):
        """An address without the token says what to do and shows nothing else."""
        with open_page(browser, address.split("#")[0], allowed="401 (Unauthorized)") as page:
            page.locator(".refused h2").wait_for()
            assert "token" in page.locator(".refused h2").inner_text()
            assert page.locator("#demo").count() == 0

    def test_without_webgl(self, browser, address, city_trips):
        """A browser that cannot draw maps says so, and all the rest works."""
        with open_page(browser, address) as page:
            page.locator("#demo").wait_for()
            page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
            page.reload()
            choose(page, city_trips)
            anonymize(page)
            assert "WebGL" in page.locator(".explore .no-map").inner_text()
            assert page.locator(".flow").count() == 12
            page.locator(".flow").first.click()

    def test_dark_and_keyboard(self, browser, address):
        """Dark is dark, and the demo can be started without a mouse."""
        with open_page(browser, address, color_scheme="dark") as page:
            page.locator("#demo").wait_for()
            for _ in range(10):
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement.id") == "demo":
                    break
            page.keyboard.press("Enter")
            page.locator(".file-name").wait_for()
            red, *_ = map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor")))
            assert red < 40
