"""Writing a release in another format: complete or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from flowveil._errors import InputError, UnknownNameError
from flowveil.export._tables import read_tables

# Format: the module that writes it, and the files of a folder; None: the format is one file.
_WRITERS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "geojson": ("_geojson", ("areas.geojson", "flows.geojson")),
    "gpkg": ("_geopackage", None),
    "flowmap-blue": ("_flowmap_blue", ("locations.csv", "flows.csv")),
    "omx": ("_omx", None),
    "skmob": ("_skmob", ("flows.csv", "tessellation.geojson")),
}
FORMATS = tuple(_WRITERS)


class Export(NamedTuple):
    """What was written, and what the format could not hold."""

    path: Path
    flows: int  # written
    left_out: int  # flows that the format cannot hold, as an end has no place on the map


def export(release: str | Path, to: str, path: str | Path, *, overwrite: bool = False) -> Export:
    """Write the flows of a release folder in a format of other tools.

    to: "geojson" (a folder: areas as outlines, flows as lines), "gpkg" (GeoPackage with the same two layers),
    "flowmap-blue" (a folder: locations.csv and flows.csv), "omx" (Open Matrix), "skmob" (a folder: the columns of
    scikit-mobility's FlowDataFrame and its tessellation).
    """
    if to not in _WRITERS:
        raise UnknownNameError("format", to, FORMATS)
    module, names = _WRITERS[to]
    target = _check_target(Path(path), names, overwrite=overwrite)
    tables = read_tables(release)
    write = import_module(f"flowveil.export.{module}").write
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.writing-", dir=target.parent))
    try:
        new = beside / target.name
        if names is not None:
            new.mkdir()
        written: int = write(tables, new)
        _replace(new, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Export(target, written, tables.flows.num_rows - written)


def _check_target(path: Path, names: tuple[str, ...] | None, *, overwrite: bool) -> Path:
    """Return the file or folder to write, or raise if it may not be written."""
    target = path.resolve()
    if not target.name or not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise InputError(f"{str(path)!r} cannot be written", "name a file or folder inside one that exists")
    if not target.exists():
        return target
    if not overwrite:
        raise InputError(f"{str(path)!r} exists", "choose another name, or add --overwrite")
    foreign = target.is_dir() if names is None else _holds_others(target, names)
    if foreign:
        raise InputError(f"{str(path)!r} is not an earlier export of this format", "choose another name")
    return target


def _holds_others(target: Path, names: tuple[str, ...]) -> bool:
    return not target.is_dir() or not {item.name for item in target.iterdir()} <= set(names)


def _replace(new: Path, target: Path) -> None:
    """Put the new one in place of the old one, which stays beside until then."""
    if target.is_dir():
        old = new.with_name("old")
        target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise
    else:
        new.replace(target)
