"""By what an input is known again: names, sizes and hashes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def fingerprint_files(paths: Iterable[str]) -> list[dict[str, str | int]]:
    """Return name, size and SHA-256 of each file, in order."""
    return [_fingerprint(Path(path)) for path in paths]


def fingerprint_text(name: str, text: str) -> list[dict[str, str | int]]:
    """Return a name and the SHA-256 of a text."""
    return [{"name": name, "sha256": hashlib.sha256(text.encode()).hexdigest()}]


def _fingerprint(path: Path) -> dict[str, str | int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest.hexdigest()}
