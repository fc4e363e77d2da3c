"""A secret that chance is drawn from: the same trips and the same secret give the same numbers."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from flowveil._errors import InputError
from flowveil._options.values import check_path

_BYTES = 32
_HINT = f"it holds {2 * _BYTES} hexadecimal digits, e.g. what secrets.token_hex({_BYTES}) of Python returns"
_DIGITS = re.compile(rf"[0-9a-f]{{{2 * _BYTES}}}")


def read_secret(path: object) -> bytes:
    """Return the secret in a file."""
    file = Path(check_path(path, "secret"))
    try:
        with file.open(encoding="ascii") as lines:
            text = lines.read(1000).strip().lower()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not plain text"
        raise InputError(f"the secret {file.name!r} cannot be read: {reason}", _HINT) from None
    if not _DIGITS.fullmatch(text):
        raise InputError(f"{file.name!r} is no secret", _HINT)
    return bytes.fromhex(text)


def draw_secret() -> bytes:
    """Return a new secret."""
    return secrets.token_bytes(_BYTES)
