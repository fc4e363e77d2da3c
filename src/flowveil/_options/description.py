"""What a publisher says of a release: title, period and the like, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from flowveil._errors import InputError
from flowveil._options.values import parse_text, shown, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = {"title": 120, "period": 60, "publisher": 120, "license": 120, "contact": 120, "unit_label": 40}
_LIKE = {
    "title": "Bike trips in Chicago",
    "period": "June 2024",
    "publisher": "City of Chicago",
    "license": "CC BY 4.0",
    "contact": "data@example.org",
    "unit_label": "bikes",
}


class DescriptionOptions(TypedDict, total=False):
    """What a publisher may say of a release; each is text of one line."""

    title: str | None
    period: str | None
    publisher: str | None
    license: str | None
    contact: str | None
    unit_label: str | None  # what the unit column tells apart, in the plural: bikes, cabs


def parse_description(given: Mapping[str, object], *, has_unit: bool) -> dict[str, str]:
    """Return what was said, in the order of the format; raise if it is no short line of text.

    has_unit: a column of persons was named, so that a label of what it tells apart makes sense.
    """
    for name in given:
        if name not in _LONGEST:
            raise TypeError(f"unexpected keyword argument {name!r}")
    said = {name: _parse(given[name], name) for name in _LONGEST if given.get(name) is not None}
    if "unit_label" in said and not has_unit:
        raise InputError("a label of the unit was given, but no unit", "name its column with --unit")
    return said


def _parse(value: object, name: str) -> str:
    text = parse_text(value, name, _LIKE[name]).strip()
    if not text or not text.isprintable() or len(text) > _LONGEST[name]:
        raise InputError(
            f"{name} is {shown(value)}",
            f"write one line of at most {_LONGEST[name]} characters: {spelled(name)} '{_LIKE[name]}'",
        )
    return text
