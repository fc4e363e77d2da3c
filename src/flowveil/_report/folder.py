"""Reading the files of any release back, with suspicion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import read_json
from flowveil._release.write import AREAS, CELLS, FLOWS, MANIFEST, TRAJECTORIES, find_release
from flowveil._shapes import shapes_from_wkb

if TYPE_CHECKING:
    from pathlib import Path

_TABLES = ((TRAJECTORIES,), (CELLS,), (FLOWS, AREAS))
_HINT = "name a folder that flowveil wrote"
_KEYS = {"software": str, "method": str, "options": dict, "promise": dict, "promise_text": str, "absence": str}


def read_files(path: str | Path) -> dict[str, Any]:
    """Return the tables and the manifest of a release of any kind, by the names of their files."""
    folder = find_release(path)
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{str(path)!r} is not a release: it has no {MANIFEST}", _HINT)
    names = next((kind for kind in _TABLES if all((folder / name).is_file() for name in kind)), None)
    if names is None:
        raise InputError(f"{str(path)!r} is not a release: its tables are missing", _HINT)
    try:
        manifest = read_json(folder / MANIFEST)
        files: dict[str, Any] = {name: pq.read_table(folder / name) for name in names}
        if AREAS in files:
            shapes_from_wkb(files[AREAS]["geometry"].to_pylist())
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise InputError(f"the release {str(path)!r} cannot be read: {error}", _HINT) from None
    whole = isinstance(manifest, dict) and all(isinstance(manifest.get(key), kind) for key, kind in _KEYS.items())
    if not whole or not str(manifest.get("format")).startswith("flowveil-"):
        raise InputError(f"the manifest of {str(path)!r} is not complete", "flowveil verify says what is wrong")
    return files | {MANIFEST: manifest}
