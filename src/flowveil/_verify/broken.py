"""How a broken promise is reported: by the name of the flow, never by its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import VerificationError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HINT = "do not publish this folder; write the release again"
_LONGEST = 120  # characters of a name from a release that may be hostile


def broken(message: str, hint: str = _HINT) -> VerificationError:
    """Return the error for a promise that does not hold."""
    return VerificationError(message, hint)


def shown(name: object) -> str:
    """Return a name from the release so that any terminal can print it."""
    text = "".join(letter if letter.isprintable() else "?" for letter in str(name)[: _LONGEST + 1])
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def flow_name(origin: str, destination: str, called: Mapping[str, str]) -> str:
    """Return how a flow is named in messages: by the ids of its areas, and what people call them."""
    ends = (shown(area) + (f" ({shown(called[area])})" if area in called else "") for area in (origin, destination))
    return " -> ".join(ends)
