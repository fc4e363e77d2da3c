"""JSON that anyone may have written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def read_json(path: Path) -> Any:
    """Return what a JSON file holds; raise ValueError if that is not JSON, or is too deeply nested."""
    return parse_json(path.read_text(encoding="utf-8"))


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; raise ValueError if it is none, or too deeply nested."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
