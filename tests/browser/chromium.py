"""A real browser for tests: Chromium without a network, and an ear for errors.

Tests open pages with `open_page(browser, address)`, which fails at the end if the page logged an error or asked for
the network.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.waiting import QUIET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",  # maps without a graphics card
)
_OF_THE_DRIVER = "GPU stall due to ReadPixels"  # a map that is drawn without a graphics card is slow to look at
_LOCAL = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "http://localhost:", "ws://127.0.0.1:")


def find_chromium() -> str | None:
    """Return the path of Chromium: what FLOWVEIL_CHROMIUM names, or the first one on the path."""
    named = os.environ.get("FLOWVEIL_CHROMIUM")
    return named or next((path for name in _NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Start Chromium, or skip the test with the reason."""
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium found: install it (Debian: apt install chromium) or set FLOWVEIL_CHROMIUM")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[test]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(browser: Browser, address: str, allowed: str = _OF_THE_DRIVER, **context: Any) -> Iterator[Page]:
    """Open an address with all traffic off this machine blocked; fail if the page errs or asks for the network.

    allowed: part of messages that are no error of the page.
    context: what `Browser.new_context` takes, e.g. viewport, color_scheme, accept_downloads.
    """
    problems: list[str] = []
    opened = browser.new_context(**context)
    opened.set_default_timeout(QUIET * 1_000)

    def guard(route: Route) -> None:
        if route.request.url.startswith(_LOCAL):
            route.continue_()
        else:
            problems.append(f"asked for {route.request.url}")
            route.abort()

    opened.route("**/*", guard)
    page = opened.new_page()
    page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    try:
        page.goto(address)
        yield page
    finally:
        opened.close()
    left = [problem for problem in problems if allowed not in problem and _OF_THE_DRIVER not in problem]
    assert left == [], left
