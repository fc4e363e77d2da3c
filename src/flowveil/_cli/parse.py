"""Options that are written as NAME=VALUE, or as an amount."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from flowveil._errors import InputError
from flowveil._problem import AUTO

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


def people(text: str | None) -> float | Literal["auto"] | None:
    """Return the number of --k-weight N, or auto."""
    if text is None or text == AUTO:
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--k-weight got {text!r}", "write a number of people, or auto") from None


def columns(text: str | None) -> dict[str, str] | None:
    """Return the mapping of --columns NAME=COL,..."""
    return None if text is None else pairs(filter(None, text.split(",")), "--columns")
