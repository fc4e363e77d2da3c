"""What axe-core says of the report and of the app: on a desk and on a phone, light and dark."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil import trajectories
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones
from tests.browser.app import anonymize, cells, choose, go, opened, shown_map
from tests.browser.axe import violations
from tests.browser.chromium import open_page

DESK = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
STILL = {"color_scheme": "light", "reduced_motion": "reduce"}  # colors on their way to others are judged as they are
# Opens what is folded, and chooses what makes most of the page appear.
OPEN_ALL = """() => {
    document.querySelectorAll('details').forEach((part) => (part.open = true));
    const compare = document.querySelector('#compare');
    if (compare) {
        compare.value = compare.options[compare.options.length - 1].value;
        compare.dispatchEvent(new Event('change'));
    }
}"""


@pytest.fixture(scope="module")
def reports(city_trips, city_zone_trips, tmp_path_factory):
    """Write one release of each kind with its report, and return the folder of all."""
    home = tmp_path_factory.mktemp("kinds")
    crowds = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit="person_id", hierarchy="h3")
    fv.anonymize(crowds, elsewhere=True).write(home / "crowds", report=True)
    zones = str(city_zone_trips.with_name("zones.parquet"))
    divided = fv.build_flows(
        city_zone_trips, zones=zones, hierarchy="ward", unit="person_id", time="hour-of-day", by=["sex"]
    )
    fv.anonymize(divided, "crosscut", max_suppression=0.5).write(home / "zones", report=True)
    noisy = fv.add_noise(fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:6"), epsilon=1.0)
    noisy.write(home / "noise", report=True)
    pq.write_table(phones(40), home / "samples.parquet")
    paths = trajectories.anonymize(str(home / "samples.parquet"), 4, bbox=PHONES_BBOX)
    paths.write(home / "trajectories", report=True)
    return home


@pytest.mark.parametrize("kind", ["crowds", "zones", "noise", "trajectories"])
def test_report(reports, browser, kind):
    """Nothing is wrong with any layer, a chosen place or what is folded away, light or dark, on a desk or a phone."""
    with open_page(browser, (reports / kind / "report.html").as_uri(), viewport=DESK, **STILL) as page:
        page.wait_for_function("window.flowveil")
        page.evaluate(OPEN_ALL)
        assert violations(page) == []
        page.evaluate("flowveil.explorer.change({layer: flowveil.scene.oneSided ? 'density' : 'flows'})")
        page.emulate_media(color_scheme="dark")
        assert violations(page) == []
        page.evaluate("flowveil.explorer.change({layer: flowveil.scene.samples ? 'density' : 'areas'})")
        page.locator("#place button.link").first.click()
        page.set_viewport_size(PHONE)
        assert violations(page) == []


def test_private_report(reports, browser, city_trips):
    """Nor with the report that is not published."""
    path = fv.report(reports / "crowds", city_trips)
    for scheme in ("light", "dark"):
        with open_page(browser, path.as_uri(), viewport=DESK, **STILL | {"color_scheme": scheme}) as page:
            page.wait_for_function("window.flowveil")
            page.evaluate(OPEN_ALL)
            assert violations(page) == []
    path.unlink()


@pytest.mark.parametrize(("view", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_app(browser, address, city_trips, view, scheme):
    """Nor with any step of the app, nor with the maps in its frames."""
    with opened(browser, address, viewport=view, **STILL | {"color_scheme": scheme}) as page:
        page.locator("#demo").wait_for()
        assert violations(page) == []
        choose(page, city_trips)
        cells(page, 6)
        for step in (1, 2, 3, 4):
            go(page, step)
            if step == 4:
                page.locator(".card-choice").first.wait_for()
            assert violations(page) == []
        anonymize(page)
        shown_map(page)
        assert violations(page) == []
        frame = page.locator(".explore iframe").element_handle().content_frame()
        assert violations(frame) == []
        page.get_by_text("Compare", exact=True).click()
        page.locator("#run-other").wait_for()
        assert violations(page) == []


def test_what_is_wrong_is_found(reports, browser):
    """A picture without a text, pale letters and a button without a name do not pass."""
    with open_page(browser, (reports / "crowds" / "report.html").as_uri(), viewport=DESK) as page:
        page.evaluate(
            """() => {
                const add = (name) => document.querySelector('main').appendChild(document.createElement(name));
                add('img');
                add('button');
                Object.assign(add('p'), {textContent: 'pale'}).style.color = '#eeeeee';
            }"""
        )
        found = " ".join(violations(page))

    assert all(rule in found for rule in ("image-alt", "button-name", "color-contrast"))
