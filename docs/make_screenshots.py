"""Draw the pictures of the web app: `python docs/make_screenshots.py` (needs the extra `test`, Pillow and Chromium)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PICTURES = Path(__file__).parent / "pictures"
_FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
_PATIENCE = 600_000  # milliseconds for a release of the demo city
_DRAWN = 4_000  # milliseconds until a map without a graphics card stands still


def main() -> None:
    """Start the app, make two releases of the demo city, and draw them."""
    command = [sys.executable, "-m", "flowveil", "serve", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:  # noqa: S603
        found = re.search(r"http://\S+", server.stdout.readline() if server.stdout else "")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        if found:
            for scheme, name in (("light", "app"), ("dark", "app-compare")):
                context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme)
                context.set_default_timeout(_PATIENCE)
                page = context.new_page()
                page.goto(found.group())
                _draw(page, compare=name == "app-compare")
                path = PICTURES / f"{name}.png"
                page.screenshot(path=path)
                Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)  # a third of the bytes
        browser.close()
        server.terminate()


def _draw(page: Page, *, compare: bool) -> None:
    page.locator("#demo, #over").locator("visible=true").wait_for()
    if page.locator("#over").is_visible():
        page.locator("#over").click()
    page.locator("#demo").click()
    page.locator(".facts dd").first.wait_for()
    page.locator("#run").click()
    page.locator(".figures dd").first.wait_for()
    if compare:
        page.get_by_text("Compare", exact=True).click()
        page.locator("#run-other").click()
        page.locator(".compare table").wait_for()
    page.wait_for_timeout(_DRAWN)


if __name__ == "__main__":
    main()
