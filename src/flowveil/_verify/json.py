"""JSON read with suspicion: plain values, known keys."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from flowveil._verify.broken import broken, shown

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._folder import Json


def read_json(path: Path, largest: int) -> Json:
    """Read a JSON file of at most `largest` bytes; raise ValueError with the reason if it is not plain JSON."""
    return parse_json(read_bytes(path, largest))


def read_bytes(path: Path, largest: int) -> bytes:
    """Read a file of at most `largest` bytes; raise ValueError with the reason if that fails."""
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise ValueError(error.strerror) from None
    if len(data) > largest:
        raise ValueError(f"it has more than {largest:,} bytes")
    return data


def parse_json(data: bytes) -> Json:
    """Parse JSON; raise ValueError on repeated keys, numbers that are not finite, bad text and deep nesting."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # half a surrogate pair cannot be text
    except UnicodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def laid_out(value: Json) -> bytes:
    """Return the one way to write a value down; raise ValueError if it is nested too deeply."""
    try:
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def only_keys(value: Json, where: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Raise unless `value` is an object with these keys, in this order, and no others."""
    if not isinstance(value, dict):
        raise broken(f"{where} is not an object")
    for key in required:
        if key not in value:
            raise broken(f"{where} has no key {key!r}")
    for key in value:
        if key not in required and key not in optional:
            raise broken(f"{where} has the key {shown(key)!r}, which is no part of the format")
    if list(value) != [key for key in (*required, *optional) if key in value]:
        raise broken(f"the keys of {where} are not in the order of the format")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value
