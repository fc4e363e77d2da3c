"""axe-core, another team's judge of whether people with disabilities can use a page."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Page

# Frames are asked one by one: those of the app are in a sandbox, which axe-core cannot look into from outside.
_RUN = "() => axe.run(document, {iframes: false, resultTypes: ['violations']}).then((found) => found.violations)"


@cache
def _program() -> str:
    pytest.importorskip("axe_playwright_python", reason="axe-core is not installed: pip install -e '.[test]'")
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def violations(shown: Page | Frame) -> list[str]:
    """Return what axe-core finds in a page as it is now, or in one frame of it: the rule, where, and why."""
    if not shown.evaluate("'axe' in window"):
        shown.evaluate(_program())
    return [
        f"{found['id']} at {node['target']}: {node['failureSummary']}"
        for found in shown.evaluate(_RUN)
        for node in found["nodes"]
    ]
