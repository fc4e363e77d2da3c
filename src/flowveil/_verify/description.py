"""What the publisher says of a release: one short line of text each, under known names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._verify.broken import broken
from flowveil._verify.json import only_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json

_MOST = {"title": 120, "period": 60, "publisher": 120, "license": 120, "contact": 120, "unit_label": 40}  # characters


def check_description(manifest: Mapping[str, Json], *, has_unit: bool) -> str | None:
    """Check the object 'description' of a manifest, if there is one; return what the unit is called, None if not told.

    has_unit: the promise is about values of a column, and not about trips.
    """
    if "description" not in manifest:
        return None
    said = manifest["description"]
    only_keys(said, "the object 'description'", (), tuple(_MOST))
    if not said:
        raise broken("the object 'description' of the manifest is empty")
    for key, text in said.items():
        if (
            not isinstance(text, str)
            or not 0 < len(text) <= _MOST[key]
            or not text.isprintable()
            or text != text.strip()
        ):
            raise broken(f"{key!r} of the description is not one line of at most {_MOST[key]} characters")
    label = said.get("unit_label")
    if label is not None and not has_unit:
        raise broken("the description has a label of the unit, and the promise is about trips")
    return None if label is None else str(label)
