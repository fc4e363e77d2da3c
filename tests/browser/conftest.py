"""One browser for all tests of this folder."""

from __future__ import annotations

import pytest

from tests.browser.chromium import open_chromium


@pytest.fixture(scope="package")
def browser():
    """Start a browser."""
    with open_chromium() as opened:
        yield opened
