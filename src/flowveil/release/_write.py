"""Writing a release: complete or not at all."""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil.release._audit import make_audit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from flowveil.release._release import Release

    Content: TypeAlias = "pa.Table | dict[str, Any] | str"

FLOWS, AREAS, MANIFEST, REPORT = "flows.parquet", "areas.parquet", "manifest.json", "report.html"
TRAJECTORIES, CELLS = "trajectories.parquet", "cells.parquet"
_ANY_FORMAT = "flowveil-"
ASSIGNMENT = ".assignment.parquet"
# All private files that may stand beside a release, by what their names add to the folder's.
_BESIDE = (".audit.json", ASSIGNMENT, ".members.parquet", ".private.html")


def audit_path(folder: Path) -> Path:
    """Return the path of the private audit file beside a release."""
    return folder.with_name(folder.name + ".audit.json")


def check_target(path: str | Path, *, overwrite: bool) -> Path:
    """Return the folder to write, or raise if it may not be written."""
    try:
        folder = Path(path).resolve()
        str(folder).encode()
    except (RuntimeError, UnicodeEncodeError):  # a link to itself, a name that is not text
        raise InputError(f"{str(path)!r} is not a folder to write to", "name a new folder, e.g. -o out") from None
    if not folder.name:
        raise InputError(f"{str(path)!r} is not a folder to write to", "name a new folder, e.g. -o out")
    if not folder.parent.is_dir():
        raise InputError(f"there is no folder {str(folder.parent)!r} to write to", "make it first")
    if not os.access(folder.parent, os.W_OK):
        raise InputError(f"the folder {str(folder.parent)!r} cannot be written to", "choose another place")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{str(path)!r} exists and is not a folder", "choose another name")
    if folder.exists():
        if not overwrite:
            raise InputError(f"the folder {str(path)!r} exists", "choose another name, or add --overwrite")
        if not _is_release(folder):
            raise InputError(f"the folder {str(path)!r} is not a release", "flowveil overwrites nothing but releases")
    return folder


def _is_release(folder: Path) -> bool:
    """Whether a folder is empty or a release, with nothing in it that flowveil did not write."""
    found = {item.name for item in folder.iterdir()}
    if not found:
        return True
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    known = isinstance(manifest, dict) and str(manifest.get("format")).startswith(_ANY_FORMAT)
    return known and found <= {FLOWS, AREAS, MANIFEST, REPORT, TRAJECTORIES, CELLS}


def write_release(release: Release, path: str | Path, *, overwrite: bool = False, report: bool = False) -> Path:
    """Write a release and, beside it, its private files: the audit, and where areas overlap the assignment."""
    check_target(path, overwrite=overwrite)  # before any work
    private: dict[str, Content] = {} if release.assignment is None else {ASSIGNMENT: release.assignment}
    private[".audit.json"] = make_audit(release)
    files = {FLOWS: release.flows, AREAS: release.areas, MANIFEST: release.manifest}
    return write_folder(path, files, private, overwrite=overwrite, report=report)


def write_folder(
    path: str | Path,
    files: Mapping[str, Content],
    private: Mapping[str, Content],
    *,
    overwrite: bool = False,
    report: bool = False,
) -> Path:
    """Write beside the target, then rename: whatever kills the process, the folder is whole or absent.

    files: what the folder holds, by name; private: files beside it, by what their names add to the folder's, written
    first and readable by their owner only. A table becomes Parquet, a dict becomes JSON, text stays text. Private
    files of an earlier release at the same place are removed: nothing of it may pass for a part of the new one.
    report: add a report, made from the files of the folder.
    """
    folder = check_target(path, overwrite=overwrite)
    if report:
        from flowveil.report import make_report  # noqa: PLC0415  reports know releases, not the reverse

        files = {**files, REPORT: make_report(files)}
    _remove_leftovers(folder, private)
    new = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
    try:
        for name, content in files.items():
            _write_content(content, new / name)
        new.chmod(0o755)
        _sync(new)
        for ending, content in private.items():
            _write_private(folder.with_name(folder.name + ending), content)
        for ending in set(_BESIDE) - set(private):
            folder.with_name(folder.name + ending).unlink(missing_ok=True)
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
            folder.rename(old)
            try:
                new.rename(folder)
            except BaseException:
                old.rename(folder)
                raise
            shutil.rmtree(old)
        else:
            new.rename(folder)
        _sync(folder.parent)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return folder


def add_report(folder: Path, text: str) -> Path:
    """Put a report into a folder that is there: written beside it, then renamed."""
    beside = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
    try:
        _write_text(beside / REPORT, text)
        (beside / REPORT).chmod(0o644)
        return (beside / REPORT).replace(folder / REPORT)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def add_private(folder: Path, ending: str, content: Content) -> Path:
    """Write one more private file beside a folder that is there."""
    path = folder.with_name(folder.name + ending)
    _write_private(path, content)
    return path


def _prefix(path: Path) -> str:
    return f".{path.name}.writing-"


def _remove_leftovers(folder: Path, private: Iterable[str]) -> None:
    """Remove what a killed run left: parts of a release, and of the private files beside it."""
    for leftover in folder.parent.glob(glob.escape(_prefix(folder)) + "*"):
        shutil.rmtree(leftover, ignore_errors=True)
    for ending in {*_BESIDE, *private}:
        beside = folder.with_name(folder.name + ending)
        for leftover in folder.parent.glob(glob.escape(_prefix(beside)) + "*"):
            leftover.unlink(missing_ok=True)


def _write_content(content: Content, path: Path) -> None:
    if isinstance(content, dict):
        _write_text(path, _json(content))
    elif isinstance(content, str):
        _write_text(path, content)
    else:
        _write_table(content, path)


def _write_table(table: pa.Table, path: Path) -> None:
    # Without the Arrow schema the file's metadata is just what GeoParquet asks for; pyarrow then wants it by itself.
    with pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table.combine_chunks())  # so that the bytes depend on the values alone
        writer.add_key_value_metadata(table.schema.metadata or {})
    _sync(path)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    _sync(path)


def _write_private(path: Path, content: Content) -> None:
    """Write a file that only its owner may read, all at once."""
    handle, name = tempfile.mkstemp(prefix=_prefix(path), dir=path.parent)  # mode 0600
    os.close(handle)
    try:
        _write_content(content, Path(name))
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
