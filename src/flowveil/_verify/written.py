"""Whether files of a release are as they were written: laid out as the format says, with the hashes of the audit."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import MANIFEST, REPORT
from flowveil._verify.broken import broken, shown
from flowveil._verify.json import laid_out, parse_json, read_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._folder import Json

LARGEST_MANIFEST = 1_000_000  # bytes; real ones have about a thousand
_AS_WRITTEN = "every file but the report is as it was written, by the hashes of the audit file"


def load_manifest(folder: Path) -> Json:
    """Return what manifest.json holds, unchecked but for how it is written down."""
    try:
        data = read_bytes(folder / MANIFEST, LARGEST_MANIFEST)
        manifest = parse_json(data)
        expected = laid_out(manifest)
    except ValueError as error:
        raise broken(f"manifest.json cannot be read: {shown(error)}") from None
    if data != expected:
        raise broken("the spaces, letters or numbers of manifest.json are not written as the format says")
    return manifest


def check_written(folder: Path, audit: Mapping[str, Json]) -> tuple[str, ...]:
    """Check the files of a folder against the hashes that the audit file has of them, and say so; () if it has none.

    This binds what cannot be counted again: a description, the name of a method, options that were typed, noise.
    """
    if "files" not in audit:  # no audit file, or one of an earlier version
        return ()
    expected = _hashes(audit["files"])
    for file in sorted(folder.iterdir()):
        if file.name == REPORT:  # which may be added later, and is a function of the others
            continue
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if expected.get(file.name) != found:
            raise broken(
                f"{shown(file.name)!r} is not the file that was written, by the hash in the audit file",
                "make the release again; or move the audit file away to check only what can be counted again",
            )
    return (_AS_WRITTEN,)


def _hashes(files: Json) -> dict[str, str]:
    try:
        return {str(file["name"]): str(file["sha256"]) for file in files}
    except (TypeError, KeyError):
        raise InputError(
            "'files' of the audit file is not what flowveil writes: name and sha256 of each file",
            "move the audit file away, and give columns, where and zones yourself",
        ) from None
