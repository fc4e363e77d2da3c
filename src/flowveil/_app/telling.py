"""How settings are said elsewhere: as words of a command line and as lines of Python."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OUTPUT = "out"
_WIDE = 100  # of a line of Python, before arguments get lines of their own


def command_line(start: Sequence[str], options: Mapping[str, object], columns: Mapping[str, str]) -> str:
    """Return a command, ready for a shell. None and False are left out, True is a flag, a mapping is repeated."""
    words = [*start]
    if columns:
        words += ["--columns", ",".join(f"{name}={_column(column)}" for name, column in columns.items())]
    for name, value in options.items():
        if isinstance(value, dict):
            words += [word for key, own in value.items() for word in (f"--{name}", f"{key}={own}")]
        elif value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value is not None and value is not False:
            words += _option(name, value if isinstance(value, str) else _number(value))
    return shlex.join(words)


def call(name: str, *arguments: object, **keywords: object) -> str:
    """Return a call in Python; keywords that are None, False or empty are left out."""
    given = {key: value for key, value in keywords.items() if value is not None and value is not False and value != {}}
    parts = [repr(value) if not isinstance(value, Name) else value for value in arguments]
    parts += [f"{key}={value!r}" for key, value in given.items()]
    line = f"{name}({', '.join(parts)})"
    if len(line) <= _WIDE:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


class Name(str):
    """A name in Python, not a text."""

    __slots__ = ()


def path_of(name: str) -> str:
    """Return a file's name as a path: it may look like an option."""
    return f"./{name}" if name.startswith("-") else name


def _option(name: str, value: str) -> list[str]:
    """Return an option; a value that looks like one is tied to its name."""
    spelled = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    return [f"{spelled}={value}"] if value.startswith("-") else [spelled, value]


def _column(name: str) -> str:
    if "," in name or name != name.strip():
        raise InputError(f"the column {name!r} cannot be mapped", "rename it: its name has a comma or blanks at an end")
    return name


def _number(value: object) -> str:
    return repr(int(value)) if isinstance(value, float) and value == int(value) else repr(value)
