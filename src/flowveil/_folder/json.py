"""JSON that anyone may have written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

# The exact type is recursive, so that every step into a manifest or an audit file would need a check; those who read
# what strangers wrote make these checks, the others know what flowveil wrote.
Json: TypeAlias = Any  # whatever JSON can hold


def read_json(path: Path) -> Json:
    """Return what a JSON file holds; raise ValueError if that is not JSON, or is too deeply nested."""
    return parse_json(path.read_text(encoding="utf-8"))


def parse_json(text: str | bytes) -> Json:
    """Return the value of a JSON text; raise ValueError if it is none, or too deeply nested."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
