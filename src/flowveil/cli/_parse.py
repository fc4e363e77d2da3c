"""Options that are written as NAME=VALUE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Return NAME=VALUE texts as a dict."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"{option} got {text!r}", f"write {option} NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def columns(text: str | None) -> dict[str, str] | None:
    """Return the mapping of --columns NAME=COL,..."""
    return None if text is None else pairs(filter(None, text.split(",")), "--columns")
