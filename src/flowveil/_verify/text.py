"""Text of names as the format writes it."""

from __future__ import annotations

_LONGEST = 80


def one_line(text: str) -> str | None:
    """Return a text as a name is written: printable characters, single spaces, 80 characters at most."""
    words = "".join(sign if sign.isprintable() else " " for sign in text).split()
    line = " ".join(words)
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST - 1]}…"
    return line or None
