"""Reading a release and the audit file beside it, with suspicion: both may come from anyone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder.files import settle
from flowveil._folder.json import read_json
from flowveil._folder.kinds import Kind, find_kind, kind_of
from flowveil._folder.names import AREAS, AUDIT, MANIFEST
from flowveil._folder.shapes import mark_shapes
from flowveil._folder.soundness import broken, check_manifest, check_tables
from flowveil._options import check_path

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from flowveil._folder.json import Json
    from flowveil._folder.manifests import Audit, Manifest

_ANY = frozenset(Kind)
_HINT = "name a folder that flowveil wrote"


@dataclass(frozen=True, eq=False)
class Files:
    """What a release folder holds, but for its report."""

    kind: Kind
    tables: dict[str, pa.Table]  # by file name
    manifest: Manifest


_READING = {"layout", "encoding", "decimal", "time_format", "input_crs", "matrices"}  # how an input is written
_TEXTS = ("where", "zones", "places", "sensitive", "towers")  # input options of an audit file that are text


@dataclass(frozen=True)
class Remembered:
    """What an audit file says of the input. Anybody may have written it: a condition is checked where it is used."""

    columns: dict[str, str] | None = None
    where: str | None = None
    zones: str | None = None
    places: str | None = None
    sensitive: str | None = None
    towers: str | None = None
    reading: dict[str, str] = field(default_factory=dict)  # how the input is written, by the names of `read_trips`


def find_release(path: str | Path) -> Path:
    """Return the whole path of a release, after what a killed process left half-way there was put in order."""
    try:
        folder = Path(check_path(path, "release")).resolve()
    except RuntimeError:  # a link to itself
        raise InputError(f"{str(path)!r} is not a folder", _HINT) from None
    settle(folder)
    return folder


def read_manifest(
    path: str | Path, kinds: Container[Kind] = _ANY, what: str = "a release", hint: str = _HINT
) -> tuple[Kind, Manifest]:
    """Return the kind of a release and its manifest, whose keys and their types are those of its kind.

    Raise InputError, which calls it not `what`, if it is none or of none of these kinds.
    """
    folder = find_release(path)
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{str(path)!r} is not {what}: it has no {MANIFEST}", _HINT)
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError) as error:
        raise InputError(f"the release {str(path)!r} cannot be read: {error}", _HINT) from None
    kind = kind_of(manifest)
    if kind is None:
        raise broken("the manifest names no kind of release")
    if kind not in kinds:
        raise _of_another_kind(path, kind, what, hint)
    check_manifest(kind, manifest)
    return kind, cast("Manifest", manifest)


def check_kind(path: str | Path, kinds: Container[Kind], what: str, hint: str) -> None:
    """Raise InputError as `read_manifest` does if a release is of none of these kinds; one of no kind passes.

    This is for verifiers, which say by themselves what is wrong with a manifest.
    """
    kind = find_kind(find_release(path))
    if kind is not None and kind not in kinds:
        raise _of_another_kind(path, kind, what, hint)


def _of_another_kind(path: str | Path, kind: Kind, what: str, hint: str) -> InputError:
    return InputError(f"{str(path)!r} is not {what}, but a release of {kind.title}", hint)


def read_files(path: str | Path, kinds: Container[Kind] = _ANY, what: str = "a release", hint: str = _HINT) -> Files:
    """Return the tables and the manifest of a release; raise InputError as `read_manifest` does, or if one is missing.

    Columns, their values and shapes are as the format says; that the promise holds is for others to check.
    """
    kind, manifest = read_manifest(path, kinds, what, hint)
    folder = find_release(path)
    if missing := [name for name in kind.tables if not (folder / name).is_file()]:
        raise InputError(f"{str(path)!r} is not {what}: it has no {missing[0]}", _HINT)
    try:
        there = [name for name in (*kind.tables, *kind.optional) if (folder / name).is_file()]
        tables = {name: pq.read_table(folder / name) for name in there}
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise InputError(f"the release {str(path)!r} cannot be read: {error}", _HINT) from None
    check_tables(kind, tables, manifest)
    if AREAS in tables:
        tables[AREAS] = mark_shapes(tables[AREAS])
    return Files(kind, tables, manifest)


def read_audit(path: str | Path) -> Audit:
    """Read the private audit file beside a release; an empty dict where there is none."""
    folder = find_release(path)
    file = folder.with_name(folder.name + AUDIT)
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
    return cast("Audit", content)


def remembered(audit: Mapping[str, Json]) -> Remembered:
    """Return the input options of an audit file, or raise if they are not what flowveil writes."""
    story = audit.get("input", {})
    options = {name: story.get(name) for name in ("columns", *_TEXTS)} if isinstance(story, dict) else {}
    columns, reading = options.get("columns"), story.get("reading", {}) if isinstance(story, dict) else {}
    is_mapping = isinstance(columns, dict) and all(isinstance(column, str) for column in columns.values())
    is_reading = isinstance(reading, dict) and all(isinstance(value, str) for value in reading.values())
    texts = (
        is_reading
        and set(reading) <= _READING
        and all(options.get(name) is None or isinstance(options[name], str) for name in _TEXTS)
    )
    if not isinstance(story, dict) or not (columns is None or is_mapping) or not texts:
        raise InputError(
            "'input' of the audit file is not what flowveil writes: columns by name; where, zones and the like as text",
            "move the file away and give columns, where and zones yourself",
        )
    return Remembered(**options, reading=reading)
