"""Reading a release back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import read_json
from flowveil._release.manifest import FORMAT
from flowveil._release.release import Release
from flowveil._release.write import AREAS, FLOWS, MANIFEST, audit_path, find_release
from flowveil._shapes import shapes_from_wkb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_COLUMNS = {"origin", "destination", "trips"}


@dataclass(frozen=True)
class Remembered:
    """What an audit file says of the input. Anybody may have written it: a condition is checked where it is used."""

    columns: dict[str, str] | None = None
    where: str | None = None
    zones: str | None = None


def read_release(path: str | Path) -> Release:
    """Read a release folder. It does not check the promise (`verify` does), and its `metrics()` raises."""
    folder = find_release(path)
    hint = "name a folder that flowveil wrote"
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{str(path)!r} is not a release: it has no {MANIFEST}", hint)
    if not (folder / FLOWS).is_file():
        raise InputError(
            f"{str(path)!r} has no flows between areas: it has no {FLOWS}",
            "name a release of flows; flowveil query asks one of boxes with noise",
        )
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
    columns = _COLUMNS | {"scale"} if noisy else _COLUMNS
    if not whole or not needed <= set(manifest["promise"]) or not columns.issubset(flows.column_names):
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


def remembered(audit: Mapping[str, Any]) -> Remembered:
    """Return the input options of an audit file, or raise if they are not what flowveil writes."""
    story = audit.get("input", {})
    found = {name: story.get(name) for name in ("columns", "where", "zones")} if isinstance(story, dict) else {}
    columns = found.get("columns")
    is_mapping = isinstance(columns, dict) and all(isinstance(column, str) for column in columns.values())
    texts = all(found.get(name) is None or isinstance(found[name], str) for name in ("where", "zones"))
    if not isinstance(story, dict) or not (columns is None or is_mapping) or not texts:
        raise InputError(
            "'input' of the audit file is not what flowveil writes: columns by name, and where and zones as text",
            "move the file away and give columns, where and zones yourself",
        )
    return Remembered(**found)
