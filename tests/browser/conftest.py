"""One browser and one web app for all tests of this folder."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.browser.chromium import open_chromium


@pytest.fixture(scope="package")
def browser():
    """Start a browser."""
    with open_chromium() as opened:
        yield opened


@pytest.fixture(scope="package")
def address():
    """Start flowveil serve and return the address it prints."""
    command = [sys.executable, "-m", "flowveil", "serve", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield re.search(r"http://\S+", server.stdout.readline()).group()
        server.terminate()
