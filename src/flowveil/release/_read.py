"""Reading a release back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._json import read_json
from flowveil._shapes import shapes_from_wkb
from flowveil.release._manifest import FORMAT
from flowveil.release._release import Release
from flowveil.release._write import AREAS, FLOWS, MANIFEST, audit_path, find_release

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS = {"origin", "destination", "trips"}


def read_release(path: str | Path) -> Release:
    """Read a release folder. It does not check the promise (`verify` does), and its `metrics()` raises."""
    folder = find_release(path)
    hint = "name a folder that flowveil wrote"
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{str(path)!r} is not a release: it has no {MANIFEST}", hint)
    try:
        manifest = read_json(folder / MANIFEST)
        flows, areas = pq.read_table(folder / FLOWS), pq.read_table(folder / AREAS)
        shapes_from_wkb(areas["geometry"].to_pylist())  # whoever takes shapes from this release can rely on them
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise InputError(f"the release {str(path)!r} cannot be read: {error}", hint) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{str(path)!r} is not a release of this format ({FORMAT})", hint)
    whole = all(isinstance(manifest.get(key), dict) for key in ("options", "promise"))
    noisy = whole and manifest["promise"].get("kind") == "differential-privacy"
    needed = {"epsilon" if noisy else "k", "unit"}
    if not whole or not needed <= set(manifest["promise"]) or not _COLUMNS.issubset(flows.column_names):
        raise InputError(f"the release {str(path)!r} is not complete", "flowveil verify says what is wrong")
    return Release(flows, areas, manifest)


def read_audit(path: str | Path) -> dict[str, Any]:
    """Read the private audit file beside a release; an empty dict where there is none."""
    file = audit_path(find_release(path))
    try:
        content = read_json(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(
            f"the audit file {file.name!r} cannot be read: {error}", "give the input options again"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("input", {}), dict):
        raise InputError(f"{file.name!r} is not an audit file", "move it away and give the input options again")
    return content
