"""The web app in a real browser: from a file to a release, side by side, canceled, attacked."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import zipfile

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from flowveil._cli.commands import run
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones
from tests.browser.app import (
    anonymize,
    cells,
    choose,
    choose_zones,
    download,
    drawn_colors,
    go,
    kept,
    opened,
    shown_map,
    tag,
    unzipped,
    where,
)
from tests.browser.chromium import open_page
from tests.waiting import wait_for

HOSTILE = '<img src=x onerror="document.title=1">'


class TestPage:
    """What users do."""

    def test_from_file_to_release(self, browser, address, city_trips, tmp_path, monkeypatch):
        """A file is dropped, settings are chosen, and the download is what the shown command and Python write."""
        trips = tmp_path / "my trips.csv"
        pyarrow.csv.write_csv(pq.read_table(city_trips), trips)
        with opened(browser, address, accept_downloads=True) as page:
            choose(page, trips)
            assert "token" not in page.url
            cells(page, 7)
            go(page, 3)
            assert page.get_by_label("Who is protected").input_value() == "person_id"
            page.get_by_label("k as a number").fill("5")
            page.get_by_label("k as a number").press("Enter")
            go(page, 4)
            page.locator(".budget-box:not(.stale) .frontier:not([hidden]) .dot").first.wait_for()
            before = page.locator(".reading:visible").inner_text()
            page.locator("#budget").fill("200")
            assert page.locator(".reading:visible").inner_text() != before  # at once: nothing is asked of the server
            page.get_by_text("About this release").click()
            for label, text in (("Title", "Trips & more"), ("What the column of persons tells apart", "riders")):
                page.get_by_label(label, exact=True).fill(text)
                page.get_by_label(label, exact=True).press("Enter")
            page.locator(".now-command", has_text="--unit-label riders").wait_for(state="attached")
            page.locator(".now-command", has_text="--max-suppression 0.2").wait_for(state="attached")
            command = page.locator(".now-command").text_content()
            anonymize(page)
            assert page.locator(".verified .badge").inner_text() == "✓ verified"
            assert page.locator(".its-command").text_content() == command
            python = page.locator(".its-python").text_content()
            flows = int(page.locator(".figures dd").first.inner_text().replace(",", ""))
            found = unzipped(download(page, "#download", tmp_path / "release.zip"))
            report = download(page, "#report-page", tmp_path / "report.html").read_bytes()
            private = download(page, "#private-report", tmp_path / "private.html").read_text()
            page.get_by_label("Format").select_option("flowmap-blue")
            exported = unzipped(download(page, "#export", tmp_path / "export.zip"))
        monkeypatch.chdir(tmp_path)

        for make in (lambda: run(shlex.split(command)[1:]), lambda: exec(python, {})):  # noqa: S102  what the page shows
            make()
            assert found == {f"out/{path.name}": path.read_bytes() for path in (tmp_path / "out").iterdir()}
            assert pq.read_table(tmp_path / "out" / "flows.parquet").num_rows == flows
            shutil.rmtree(tmp_path / "out")
        assert report == found["out/report.html"]
        assert b"<h1>Trips &amp; more</h1>" in report
        assert "<html" in private
        assert set(exported) == {"flowmap-blue/flows.csv", "flowmap-blue/locations.csv"}

    def test_bike_sharing(self, browser, address, city_trips, tmp_path):
        """Stations with names that nobody knows: columns are tagged, time is cut, and a release comes out."""
        table = pq.read_table(city_trips)
        names = {"start_lon": "Start Station Longitude", "start_lat": "start station latitude"}
        names |= {"end_lon": "where to (x)", "end_lat": "where to (y)", "start_time": "taken", "person_id": "Bike Id"}
        table = table.select(list(names)).rename_columns(names)
        pyarrow.csv.write_csv(table, tmp_path / "bikes.csv")
        with opened(browser, address, accept_downloads=True) as page:
            page.get_by_label("Choose a file of trips").first.set_input_files(tmp_path / "bikes.csv")
            page.locator(".lacking-note:visible").wait_for()
            start = page.get_by_label("What Start Station Longitude is")
            assert start.evaluate("one => one.selectedOptions[0].text") == "start longitude"
            assert page.get_by_label("What Bike Id is").evaluate("one => one.selectedOptions[0].text") == "person"
            assert page.locator(".preview tbody tr").count() == 6
            tag(page, "where to (x)", "end longitude")
            tag(page, "where to (y)", "end latitude")
            page.locator(".facts dd").first.wait_for()
            cells(page, 6)
            page.get_by_label("Cut time").select_option("hour-of-day")
            assert "when trips start" in page.locator(".lacking-note").inner_text()
            page.locator(".lacking-note button").click()
            tag(page, "taken", "start time")
            page.locator(".lacking-note").wait_for(state="hidden")
            page.locator(".facts dd").first.wait_for()
            go(page, 3)
            page.get_by_label("As others do").select_option("mds-10")
            anonymize(page)
            command = page.locator(".its-command").text_content()
            assert shown_map(page).locator("#time").is_visible()
            found = unzipped(download(page, "#download", tmp_path / "release.zip"))

        assert "--preset mds-10" in command
        assert "start_time=taken" in command
        manifest = json.loads(found["out/manifest.json"])
        assert manifest["promise"]["k"] == 10
        assert manifest["promise"]["unit"] == "Bike Id"
        assert manifest["options"]["time"] == "hour-of-day"

    def test_noise(self, browser, address, city_trips, tmp_path):
        """Noise asks for limits that are public, and says how far numbers are off; its release can be taken."""
        with opened(browser, address, accept_downloads=True) as page:
            choose(page, city_trips)
            cells(page, 6)
            go(page, 3)
            page.get_by_text("Noise", exact=True).click()
            assert "limits" in page.locator(".lacking-note").inner_text()
            page.get_by_role("button", name="Go to step 2").click()
            page.get_by_label("Limits").fill(", ".join(map(str, CITY_BBOX)))
            page.get_by_label("Limits").press("Enter")
            page.locator(".lacking-note").wait_for(state="hidden")
            go(page, 3)
            page.get_by_label("Epsilon").fill("2")
            page.get_by_label("Epsilon").press("Enter")
            anonymize(page)
            amount = shown_map(page).locator("#shown-amount").inner_text()
            error = page.locator(".figures dd").nth(3).inner_text()
            command = page.locator(".its-command").text_content()
            found = unzipped(download(page, "#download", tmp_path / "release.zip"))
            download(page, "#private-report", tmp_path / "private.html")

        assert re.fullmatch(r"[\d,]+ ± [\d,]+ trips", amount)
        assert re.fullmatch(r"± [\d,]+", error)
        assert "--epsilon 2" in command
        assert "--max-trips-per-person 4" in command
        assert json.loads(found["out/manifest.json"])["promise"]["epsilon"] == 2.0

    def test_paths(self, browser, address, tmp_path, monkeypatch):
        """Samples of paths are known by their columns; the download is what the shown command writes."""
        pq.write_table(phones(40, samples=25), tmp_path / "samples.parquet")
        with opened(browser, address, accept_downloads=True) as page:
            page.get_by_label("Choose a file of trips").first.set_input_files(tmp_path / "samples.parquet")
            assert page.get_by_label("What user_id is").evaluate("one => one.selectedOptions[0].text") == "person"
            go(page, 2)
            page.get_by_label("Limits").fill(",".join(map(str, PHONES_BBOX)))
            page.get_by_label("Limits").press("Enter")
            page.get_by_label("Grid: edge of a cell, step of time").fill("1km,30min")
            page.get_by_label("Grid: edge of a cell, step of time").press("Enter")
            go(page, 3)
            page.get_by_label("k as a number").fill("3")
            page.get_by_label("k as a number").press("Enter")
            anonymize(page)
            command = page.locator(".its-command").text_content()
            assert page.locator(".figures dt").first.inner_text() == "Paths"
            found = unzipped(download(page, "#download", tmp_path / "release.zip"))
            formats = page.get_by_label("Format").locator("option").all_inner_texts()
            page.get_by_label("Format").select_option("gpx")
            exported = unzipped(download(page, "#export", tmp_path / "export.zip"))
        monkeypatch.chdir(tmp_path)

        assert run(shlex.split(command)[1:]) == 0
        assert found == {f"out/{path.name}": path.read_bytes() for path in (tmp_path / "out").iterdir()}
        assert set(exported) == {"trajectories.gpx"}
        assert "MovingPandas" in formats
        assert "Open Matrix, for transport models" not in formats

    def test_frontier_of_paths(self, browser, address, tmp_path):
        """What each share buys is shown on demand; a point of it is chosen with a click; other settings clear it."""
        pq.write_table(phones(20, samples=10), tmp_path / "samples.parquet")
        with opened(browser, address) as page:
            page.get_by_label("Choose a file of trips").first.set_input_files(tmp_path / "samples.parquet")
            go(page, 2)
            page.get_by_label("Limits").fill(",".join(map(str, PHONES_BBOX)))
            page.get_by_label("Limits").press("Enter")
            go(page, 3)
            page.get_by_label("k as a number").fill("2")
            page.get_by_label("k as a number").press("Enter")
            go(page, 4)
            page.get_by_label("How persons are grouped").select_option("gather")
            page.locator("#path-frontier").click()
            wait_for(lambda: page.locator(".frontier .dot").count() >= 8)
            dot = page.locator(".frontier .dot").nth(4)
            told = dot.locator("title").text_content()
            dot.dispatch_event("click")
            figures = page.locator(".reading:visible dd").all_inner_texts()
            command = page.locator(".now-command")
            share = page.get_by_label("Most samples to leave out").input_value()
            wait_for(lambda: f"--method gather --max-suppression {int(share) / 1000}" in command.text_content())
            page.get_by_label("How persons are grouped").select_option("complete")
            wait_for(lambda: page.locator("#path-frontier").is_visible())
            wait_for(lambda: "--complete-support" in command.text_content())

        left_out, extent, duration, _ = figures
        assert told == f"{left_out} left out: {extent} and {duration.removesuffix(' min')} minutes on average"

    def test_explore_and_compare(self, browser, address, city_trips):
        """The map is drawn; a place can be chosen; before stands beside after; so do two methods."""
        with opened(browser, address, viewport={"width": 1240, "height": 700}) as page:
            choose(page, city_trips)
            cells(page, 7)
            anonymize(page)
            shown = shown_map(page)
            wait_for(lambda: drawn_colors(shown) > 50)
            strongest = shown.locator("#place button").first
            place = strongest.inner_text()
            strongest.click()
            assert shown.locator("#place .big").inner_text() in place
            page.get_by_text("Before and after", exact=True).click()
            both = shown_map(page, ".compare")
            assert both.locator(".pair canvas").count() == 2
            assert "PRIVATE" in both.locator(".private-banner").inner_text()
            assert "Private" in page.locator(".compare .half-name").inner_text()
            page.get_by_text("Compare", exact=True).click()
            page.get_by_label("Method to compare with").select_option("crosscut")
            page.locator("#run-other").click()
            page.locator(".compare table").wait_for()
            heads = page.locator(".compare thead th").all_inner_texts()
            flows = page.locator(".compare tbody tr").first.locator("td").all_inner_texts()
            for side in (".half:first-child", ".half:last-child"):
                shown = shown_map(page, side)
                assert page.locator(f"{side} iframe").bounding_box()["height"] >= 600
                wait_for(lambda: drawn_colors(shown) > 50)  # noqa: B023  it is called at once
            maps = [shown_map(page, side).locator("#map") for side in (".half:first-child", ".half:last-child")]
            before = where(maps[1])
            wait_for(lambda: where(maps[0]) == where(maps[1]))
            maps[0].press("+")
            maps[0].press("ArrowRight")
            wait_for(lambda: where(maps[0]) == where(maps[1]) != before)
            self.check_one_scale(page, maps)

        assert [head.split(",")[0] for head in heads] == ["mosaic", "crosscut"]
        numbers = [int(re.sub(r"\D", "", text)) for text in flows]
        assert numbers[0] > numbers[1] > 0

    def test_risk(self, browser, address, city_trips):
        """A release is attacked when asked for; what was found stays while other views are looked at."""
        with opened(browser, address) as page:
            choose(page, city_trips)
            cells(page, 6)
            anonymize(page)
            page.get_by_text("Risk", exact=True).click()
            page.locator("#attack").click()
            page.locator(".finding").first.wait_for()
            found = page.locator(".risk .findings").inner_text()
            texts = page.locator(".finding").all_inner_texts()
            page.get_by_text("Explore", exact=True).click()
            assert page.locator(".risk").is_hidden()
            page.get_by_text("Risk", exact=True).click()
            again = page.locator(".risk .findings").inner_text()

        assert found == again
        assert "Which flows were not divided because of a small part?" in found
        assert "--" not in "".join(texts)  # options are for the command line

    @staticmethod
    def check_one_scale(page, maps):
        """Check that maps side by side have one scale and one legend in every layer, but for a chosen place."""
        scales = "() => JSON.stringify(flowveil.explorer.scales)"
        own = "() => flowveil.explorer.own.high"
        both = [shown_map(page, side) for side in (".half:first-child", ".half:last-child")]
        note = page.locator(".scales-note")
        for layer in ("Density", "Flows", "Published areas"):
            both[0].get_by_role("radio", name=layer).check()
            wait_for(lambda: both[1].get_by_role("radio", name=layer).is_checked())  # noqa: B023  called at once
            wait_for(lambda: len({shown.evaluate(scales) for shown in maps}) == 1)
            assert "mean the same in both maps" in note.inner_text()
            assert [shown.locator("#legend").is_visible() for shown in both] == [True, False]
            if layer == "Density":
                high = maps[0].evaluate("() => flowveil.map.range.high")
                assert high == max(shown.evaluate(own) for shown in maps) > min(shown.evaluate(own) for shown in maps)
        both[1].locator("#place button.link").first.click()
        wait_for(lambda: "cannot be compared" in note.inner_text())
        wait_for(lambda: both[1].locator("#legend").is_visible())
        assert maps[1].evaluate("() => flowveil.explorer.common") is None

    def test_never_above_the_budget(self, browser, address, city_trips):
        """Wherever the slider stands, what is read and what is drawn leaves out no more than it says."""
        with opened(browser, address) as page:
            choose(page, city_trips)
            cells(page, 6)
            go(page, 3)
            page.get_by_text("Noise", exact=True).click()  # which lacks limits, so that nothing can be counted
            page.locator(".lacking-note:visible").wait_for()
            page.wait_for_timeout(500)
            page.get_by_text("Crowds", exact=True).click()
            go(page, 4)
            page.locator(".card-choice").nth(3).wait_for()
            for thousandths in (100, 99, 60, 49, 20, 3, 0):
                page.locator("#budget").fill(str(thousandths))
                assert page.locator(".share:visible").inner_text() == f"{thousandths / 10:.1f} %"
                left_out = page.locator(".reading:visible dd").first.inner_text()
                assert float(left_out.removesuffix(" %")) <= thousandths / 10
                said = page.locator(".card-choice b").all_inner_texts()
                assert [float(re.sub(r"[^\d.]", "", text) or 0) for text in said][-1] <= thousandths / 10
                assert page.locator(".card-choice.chosen").inner_text().startswith(said[-1])
            flows = page.locator(".card-choice.chosen span").inner_text().split(" flows")[0]
            wait_for(lambda: f"in {flows} flows" in shown_map(page, ".trade-map").locator("#shown-count").inner_text())

    def test_results_belong_to_their_settings(self, browser, address, city_trips, tmp_path):
        """After a change the old release is marked as such; one can go back to its settings, or make it again."""
        with opened(browser, address, accept_downloads=True) as page:
            choose(page, city_trips)
            cells(page, 6)
            anonymize(page)
            assert page.locator(".stale-note").is_hidden()
            go(page, 4)
            page.locator("#budget").fill("50")
            go(page, 5)
            assert "settings before your change: mosaic, k = 10, 10 %" in page.locator(".stale-note").inner_text()
            page.locator("#back-to").click()
            page.locator(".stale-note").wait_for(state="hidden")
            go(page, 3)
            page.get_by_label("k as a number").fill("20")
            page.get_by_label("k as a number").press("Enter")
            go(page, 5)
            found = unzipped(download(page, "#download", tmp_path / "old.zip"))
            assert json.loads(found["out/manifest.json"])["promise"]["k"] == 10
            page.locator("#again").click()
            page.locator(".stale-note").wait_for(state="hidden")
            page.get_by_label("Release", exact=True).locator("option").nth(1).wait_for(state="attached")
            found = unzipped(download(page, "#download", tmp_path / "new.zip"))
            assert json.loads(found["out/manifest.json"])["promise"]["k"] == 20

    def test_reload(self, browser, address, city_trips, tmp_path):
        """Choices and releases are there after a reload; Start over removes them from the server."""
        with opened(browser, address, accept_downloads=True) as page:
            choose(page, city_trips)
            cells(page, 6)
            anonymize(page)
            flows = page.locator(".figures dd").first.inner_text()
            wait_for(lambda: kept(page, address) and kept(page, address)["runs"])  # a moment later
            page.reload()
            page.locator(".figures dd").first.wait_for()
            assert page.locator(".figures dd").first.inner_text() == flows
            assert page.locator(".stale-note").is_hidden()
            assert "out/flows.parquet" in unzipped(download(page, "#download", tmp_path / "release.zip"))
            go(page, 2)
            assert page.locator("#resolution").input_value() == "6"
            page.locator("#over").click()
            page.locator("#demo").wait_for()
            page.reload()
            page.locator("#demo").wait_for()

    def test_cancel(self, browser, address):
        """A job can be canceled; the page says so by being ready again."""
        with opened(browser, address) as page:
            page.locator("#demo").click()
            page.locator(".facts dd").first.wait_for()
            cells(page, 11)
            page.locator("#run").click()
            page.locator("#cancel").click()
            page.locator("#run:visible").wait_for()
            page.locator(".doing").wait_for(state="hidden")
            page.wait_for_timeout(700)
            assert page.locator(".doing").is_hidden()  # nothing was started again
            assert page.locator(".results").is_hidden()
            assert page.locator(".trouble").is_hidden()

    def test_hostile_file(self, browser, address, tmp_path):
        """Markup in names of files, columns and rows is text; a file that is no table is refused with a hint."""
        name = "<img src=x onerror=document.title=1>.csv"
        quoted = HOSTILE.replace('"', '""')
        header = f'start_lon,start_lat,end_lon,end_lat,"{quoted}"\n'
        (tmp_path / name).write_text(header + f'4.5,50.3,4.6,50.4,"{quoted}"\n' * 30)
        (tmp_path / "page.csv").write_text("<script>document.title=1</script>\n<html>\n")
        (tmp_path / "fake.parquet").write_text("<html>")
        with opened(browser, address, allowed="400 (Bad Request)") as page:
            choose(page, tmp_path / name)
            assert page.locator(".file-name b").inner_text() == name
            assert page.locator(".preview th code").all_inner_texts()[-1] == HOSTILE
            assert page.locator(".preview td").nth(4).inner_text() == HOSTILE
            page.get_by_label("Another file").set_input_files(tmp_path / "fake.parquet")
            page.locator(".trouble p").wait_for()
            assert page.locator(".trouble").inner_text().startswith("'fake.parquet' is not a .parquet file")
            page.get_by_label("Another file").set_input_files(tmp_path / "page.csv")
            page.locator(".preview th code", has_text="<script>document.title=1</script>").wait_for()
            assert "longitude and latitude" in page.locator(".lacking-note").inner_text()
            assert page.title() == "flowveil"
            assert page.locator("img").count() == 1  # the mark

    def test_problems(self, browser, address, tmp_path):
        """Problems are counts; exchanged coordinates are noticed and mended with a click. No text names an option."""
        trips = tmp_path / "swapped.csv"
        rows = "-37.8,144.9,-37.9,145.1\n" * 30  # Melbourne: there is no latitude 144.9
        trips.write_text(f"start_lon,start_lat,end_lon,end_lat\n{rows}x,1,1,1\n,,,\n")
        with opened(browser, address) as page:
            page.get_by_label("Choose a file of trips").first.set_input_files(trips)
            page.get_by_role("button", name="Exchange them").first.wait_for()
            assert "--" not in page.locator("main").inner_text()
            page.get_by_role("button", name="Exchange them").first.click()
            page.locator(".problems .note b").first.wait_for()
            told = page.locator(".problems .note").all_inner_texts()
            assert told == [
                "1 row cannot be used and is left out: not a number.",
                "1 row cannot be used and is left out: null coordinate.",
            ]

    def test_zones(self, browser, address, city_zone_trips, tmp_path):
        """Trips between zones ask for zones, which have names and join by columns of their file."""
        with opened(browser, address, accept_downloads=True) as page:
            choose_zones(page, city_zone_trips, tmp_path)
            assert ", name," in page.locator(".note", has_text="zones.parquet").inner_text()
            page.get_by_label("How zones join").select_option("columns")
            page.get_by_label("Columns from fine to coarse").fill("zone_id, district, region")
            page.get_by_label("Columns from fine to coarse").press("Enter")
            page.locator(".now-command", has_text="--hierarchy zone_id,district,region").wait_for(state="attached")
            anonymize(page)
            found = unzipped(download(page, "#download", tmp_path / "release.zip"))
        assert json.loads(found["out/manifest.json"])["options"]["hierarchy"] == ["zone_id", "district", "region"]

    def test_without_the_token(self, browser, address):
        """An address without the token says what to do and shows nothing else."""
        with open_page(browser, address.split("#")[0], allowed="401 (Unauthorized)") as page:
            page.locator(".refused h2").wait_for()
            assert "token" in page.locator(".refused h2").inner_text()
            assert page.locator("#demo").count() == 0

    def test_names(self, browser, address, city_zone_trips, tmp_path):
        """Areas are called by the names of their zones."""
        with opened(browser, address, accept_downloads=True) as page:
            choose_zones(page, city_zone_trips, tmp_path)
            anonymize(page)
            told = shown_map(page).locator("#place").inner_text()
            with zipfile.ZipFile(download(page, "#download", tmp_path / "release.zip")) as archive:
                archive.extractall(tmp_path)
        named = pq.read_table(tmp_path / "out" / "areas.parquet")["name"].to_pylist()
        assert sum(name in told for name in named if name) > 3

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_map_on_a_phone(self, browser, address, city_trips, scheme):
        """The map is no wider than a phone, and has the colors of the page, also when they are changed."""
        with opened(browser, address, viewport={"width": 390, "height": 844}, color_scheme=scheme) as page:
            choose(page, city_trips)
            cells(page, 6)
            anonymize(page)
            inner = shown_map(page).locator("html")
            assert inner.get_attribute("data-theme") == scheme
            assert inner.evaluate("one => one.scrollWidth") <= 390
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            other = "light" if scheme == "dark" else "dark"
            page.get_by_text(other.capitalize(), exact=True).first.click()
            wait_for(lambda: shown_map(page).locator("html").get_attribute("data-theme") == other)

    def test_the_map_sees_nothing(self, browser, address, city_trips):
        """A map runs in a sandbox: it reaches neither the page that holds it nor the token, and asks for nothing."""
        with opened(browser, address) as page:
            choose(page, city_trips)
            cells(page, 6)
            anonymize(page)
            assert page.locator(".explore iframe").get_attribute("sandbox") == "allow-scripts allow-downloads"
            attempt = "() => { try { return parent.document.title } catch (error) { return error.name } }"
            assert shown_map(page).locator("html").evaluate(attempt) == "SecurityError"

    def test_dark_and_keyboard(self, browser, address):
        """Dark is dark, and the demo can be started and steps gone through without a mouse."""
        with opened(browser, address, color_scheme="dark") as page:
            page.locator("#demo").wait_for()
            for _ in range(12):
                page.keyboard.press("Tab")
                if page.evaluate("document.activeElement.id") == "demo":
                    break
            page.keyboard.press("Enter")
            page.locator(".file-name").wait_for()
            page.locator("#next").focus()
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.textContent") == "Places"
            red, *_ = map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor")))
            assert red < 40
