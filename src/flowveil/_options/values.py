"""Values of one kind each: whole numbers, numbers, text, flags, names, pairs. A text means the same at every door."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, TypeAlias, cast

from flowveil._errors import InputError, UnknownNameError

Keywords: TypeAlias = dict[str, Any]  # what a function takes by name: each value has a type of its own
LARGEST_NUMBER = 10**15  # that anybody can mean, e.g. more than the globe has tiles; keeps sums within 64 bits
_LONGEST = 60  # characters of a value that are shown


def shown(value: object) -> str:
    """Return a value for a message: text in quotes unless it is a number, and nothing that fills a page."""
    if hasattr(value, "__arrow_c_stream__"):  # a table, whose rows are nobody's business
        return f"a {type(value).__name__}"
    try:
        text = value.strip() if isinstance(value, str) and _is_number(value) else repr(value)
    except ValueError:  # a whole number of thousands of digits has no text
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


def parse_whole(value: object, name: str, hint: str, least: int = 1, most: int = LARGEST_NUMBER) -> int:
    """Return a whole number, which may be written as text, or raise if it is none from `least` to `most`."""
    try:
        number = int(value) if isinstance(value, str | Integral) and not is_flag(value) else None
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise InputError(f"{name} is {shown(value)}", hint)
    return number


def parse_wholes(value: object, name: str, hint: str) -> list[int]:
    """Return whole numbers: of a list, or of a text with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Iterable) or isinstance(parts, bytes | Mapping):
        raise InputError(f"{name} is {shown(value)}", hint)
    return [parse_whole(part, name, hint, -LARGEST_NUMBER) for part in parts]


def parse_number(value: object, name: str, hint: str, least: float = 0, most: float = LARGEST_NUMBER) -> float:
    """Return a number, which may be written as text, or raise if it is none from `least` to `most`.

    A fraction stays one, and a whole number too: what is written down is what was given.
    """
    number: int | float | Fraction | None = (
        value if isinstance(value, int | float | Fraction) and not is_flag(value) else None
    )
    if number is None and (isinstance(value, Real) or (isinstance(value, str) and _is_number(value))):
        number = None if is_flag(value) else float(value)
    if number is None or not least <= number <= most:  # nor is NaN any number
        raise InputError(f"{name} is {shown(value)}", hint)
    return cast("float", number)


def parse_share(value: object, name: str, hint: str, least: float = 0, most: float = 1) -> float:
    """Return a share, which may be written as a number or in percent: 0.1 is 10%."""
    percent = value.strip().removesuffix("%") if isinstance(value, str) and value.strip().endswith("%") else ""
    written = float(percent) / 100 if percent and _is_number(percent) else value
    try:
        return parse_number(written, name, hint, least, most)
    except InputError:
        raise InputError(f"{name} is {shown(value)}", hint) from None


def parse_text(value: object, name: str, like: str) -> str:
    """Return text, or raise if this is something else."""
    if not isinstance(value, str) or not _is_unicode(value):
        raise InputError(f"{name} is {shown(value)}", f"{name} is text, e.g. {like}")
    return value


def _is_unicode(text: str) -> bool:
    """Whether text can be written: shells hand over bytes that are no letters as halves of letters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_choice(value: object, kind: str, known: Collection[str]) -> str:
    """Return one of the names that are known, or raise with those that are."""
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(kind, value if isinstance(value, str) else shown(value), known)
    return value


def check_flag(value: object, name: str) -> bool:
    """Return True or False, or raise if this is neither."""
    if not is_flag(value):
        raise InputError(f"{name} is {shown(value)}", f"{name} is True or False")
    return bool(value)


def check_path(value: object, name: str) -> str | os.PathLike[str]:
    """Return a path, or raise if this is none."""
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{name} is {shown(value)}", f"{name} is a path")
    return value


def parse_names(value: object, name: str) -> tuple[str, ...]:
    """Return names in their order: of a list, or of a text with commas between them."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    names = tuple(value) if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping) else (None,)
    if not all(isinstance(part, str) for part in names):
        raise InputError(f"{name} is {shown(value)}", f"write names with commas between them: {spelled(name)} A,B")
    return names


def parse_pairs(value: object, name: str) -> Keywords:
    """Return values by name: of a mapping, or of texts NAME=VALUE, of which there may be a list."""
    if isinstance(value, Mapping):
        pairs = dict(value)
    else:
        texts = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        pairs = dict(_pair(text, name) for text in texts)
    for key in pairs:
        if not isinstance(key, str):
            raise _no_pair(key, name)
    return pairs


def parse_columns(value: object) -> dict[str, str]:
    """Return the column of each meaning: of a mapping, or of a text NAME=COL,...; none for None."""
    if value is None:
        return {}
    pairs = parse_pairs([part for part in value.split(",") if part] if isinstance(value, str) else value, "columns")
    for column in pairs.values():
        if not isinstance(column, str):
            raise _no_pair(column, "columns")
    return pairs


def spelled(name: str) -> str:
    """Return the option of the command line that stands for a keyword."""
    if len(name) == 1:
        return f"-{name}"
    return "--option" if name == "options" else f"--{name.replace('_', '-')}"


def is_flag(value: object) -> bool:
    """Whether a value is True or False, also NumPy's."""
    return type(value).__name__ in {"bool", "bool_"}


def _pair(text: object, name: str) -> tuple[str, str]:
    key, equals, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not equals or not key.strip():
        raise _no_pair(text, name)
    return key.strip(), value.strip()


def _no_pair(value: object, name: str) -> InputError:
    return InputError(f"{spelled(name)} got {shown(value)}", f"write {spelled(name)} NAME=VALUE")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
