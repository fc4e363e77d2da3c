"""What lies in the folder: the files of the format, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import AREAS, AUDIT, FLOWS, MANIFEST, REPORT, find_release
from flowveil._verify.broken import broken, shown
from flowveil._verify.json import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._folder import Json

_FILES = (MANIFEST, FLOWS, AREAS)
_LARGEST_AUDIT = 100_000_000  # bytes


def open_folder(release: str | Path) -> Path:
    """Return the folder of a release after a look at what is in it."""
    folder = find_release(release)
    if not folder.is_dir():
        raise InputError(f"there is no release folder {str(release)!r}", "give the folder that anonymize wrote")
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"the folder {str(release)!r} cannot be read: {error.strerror}", "check its mode") from None
    for entry in entries:
        if entry.name not in (*_FILES, REPORT):
            raise broken(f"the folder holds {shown(entry.name)!r}, which is no part of a release")
        if entry.is_symlink() or not entry.is_file():
            raise broken(f"{shown(entry.name)!r} is not a plain file")
    names = {entry.name for entry in entries}
    for name in _FILES:
        if name not in names:
            raise broken(f"the folder has no {name}")
    return folder


def load_audit(folder: Path) -> dict[str, Json]:
    """Return the private audit file beside the folder, {} if there is none."""
    path = folder.with_name(folder.name + AUDIT)
    if not path.exists():
        return {}
    hint = "move it away and give columns, where and zones yourself"
    try:
        audit = read_json(path, _LARGEST_AUDIT)
    except ValueError as error:
        raise InputError(f"the audit file {path.name!r} cannot be read: {shown(error)}", hint) from None
    if not isinstance(audit, dict) or audit.get("format") != "flowveil-audit/1":
        raise InputError(f"{path.name!r} is not an audit file", hint)
    return audit
