"""Writing a release: complete or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder.files import check_file, check_folder, make_private, new_file, new_folder
from flowveil._folder.fingerprint import fingerprint_files
from flowveil._folder.json import read_json
from flowveil._folder.kinds import Kind
from flowveil._folder.names import AUDIT, BESIDE, MANIFEST, REPORT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from flowveil._folder.reading import Files

    Content: TypeAlias = "pa.Table | Mapping[str, object] | str"

_ANY_FORMAT = "flowveil-"
_KNOWN = {MANIFEST, REPORT, *(table for kind in Kind for table in (*kind.tables, *kind.optional))}
# Outlines repeat: an area is there as origin and as destination, and joined zones share borders with others.
_OUTLINES = "geometry"
_OUTLINES_LEVEL = 9  # of zstd, which then looks back far enough to find borders again
_DICTIONARY_BYTES = 2**30  # so that each outline is there once


def check_target(path: str | Path, *, overwrite: bool) -> Path:
    """Return the folder to write, or raise if it may not be written."""
    return check_folder(path, "a release", _is_release, overwrite=overwrite)


def _is_release(folder: Path) -> bool:
    """Whether a folder is empty or a release, with nothing in it that flowveil did not write."""
    names = {item.name for item in folder.iterdir()}
    if not names:
        return True
    try:
        manifest = read_json(folder / MANIFEST)
    except (OSError, ValueError):
        return False
    known = isinstance(manifest, dict) and str(manifest.get("format")).startswith(_ANY_FORMAT)
    return known and names <= _KNOWN


def write_folder(
    path: str | Path,
    files: Files,
    private: Mapping[str, Content],
    *,
    overwrite: bool = False,
    report: Callable[[Files], str] | None = None,
) -> Path:
    """Write beside the target, then exchange: whatever kills the process, the folder is whole, old or new, or absent.

    private: files beside the folder, by what their names add to its name, readable by their owner only. A table becomes
    Parquet, a dict becomes JSON, text stays text. Private files of an earlier release at the same place are removed:
    nothing of it may pass for a part of the new one. The audit file is told the hashes of what is in the folder.
    report: makes the report of these files, which is then added.
    """
    folder = check_target(path, overwrite=overwrite)
    contents: dict[str, Content] = {**files.tables, MANIFEST: files.manifest}
    if report is not None:
        contents[REPORT] = report(files)
    with new_folder(lambda: check_target(path, overwrite=overwrite), 0o755, BESIDE) as new:
        for name, content in contents.items():
            _write_content(content, new / name)
        written = fingerprint_files(str(new / name) for name in (MANIFEST, *files.tables))
        for ending, content in private.items():
            told = {**content, "files": written} if ending == AUDIT and isinstance(content, Mapping) else content
            _write_content(told, make_private(new.with_name(ending)))
    return folder


def addition(folder: Path, path: Path, *, overwrite: bool) -> Callable[[], Path]:
    """Return a check for a file that is added to a release, in its folder or beside it: it returns the path, or raises.

    What is added was made from the folder that is there now: it raises if another one has taken its place since.
    """
    seen = _number(folder)

    def check() -> Path:
        if seen is None or _number(folder) != seen:
            raise InputError(f"the release {folder.name!r} was replaced in the meantime", "try again")
        if path.is_symlink():
            raise InputError(f"{path.name!r} is a link", "remove it: flowveil does not write through it")
        return check_file(path, overwrite=overwrite)

    return check


def add_report(folder: Path, check: Callable[[], Path], text: str) -> Path:
    """Put a report into a folder that is there: written beside it, then renamed."""
    with new_file(check, folder) as new:
        _write_content(text, new)
        new.chmod(0o644)
    return folder / new.name


def add_private(folder: Path, check: Callable[[], Path], content: Content) -> Path:
    """Write one more private file beside a folder that is there."""
    with new_file(check, folder) as new:
        _write_content(content, make_private(new))
    return folder.with_name(new.name)


def _number(folder: Path) -> int | None:
    """Return the number that the file system knows a folder by, None if there is none."""
    return folder.stat().st_ino if folder.is_dir() else None


def _write_content(content: Content, path: Path) -> None:
    if isinstance(content, Mapping):
        path.write_text(_json(content), encoding="utf-8")
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        _write_table(content, path)


def _write_table(table: pa.Table, path: Path) -> None:
    shaped = _OUTLINES in table.column_names
    level = {_OUTLINES: _OUTLINES_LEVEL} if shaped else None
    room = _DICTIONARY_BYTES if shaped else None
    # Without the Arrow schema the file's metadata is just what GeoParquet asks for; pyarrow then wants it by itself.
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="zstd",
        compression_level=level,
        dictionary_pagesize_limit=room,
        store_schema=False,
    ) as writer:
        writer.write_table(table.combine_chunks())  # so that the bytes depend on the values alone
        writer.add_key_value_metadata(cast("dict[str, str]", table.schema.metadata or {}))  # bytes will do too


def _json(content: Mapping[str, object]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
