"""Writing a release in another format: complete or not at all."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from flowveil._export.tables import read_tables
from flowveil._folder import check_file, check_folder, new_file, new_folder
from flowveil._options import parse_choice

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._matrices import NoisyRelease
    from flowveil._release import Release

# Format: the module that writes it, and the files of a folder; None: the format is one file.
_WRITERS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "geojson": ("geojson", ("areas.geojson", "flows.geojson")),
    "gpkg": ("geopackage", None),
    "flowmap-blue": ("flowmap_blue", ("locations.csv", "flows.csv")),
    "omx": ("omx", None),
    "skmob": ("skmob", ("flows.csv", "tessellation.geojson")),
}
FORMATS = tuple(_WRITERS)


class Export(NamedTuple):
    """What was written, and what the format could not hold.

    >>> fv.export("release", "flowmap-blue", "map", overwrite=True).left_out
    0
    """

    path: Path
    flows: int  # written
    left_out: int  # flows that the format cannot hold, as an end has no place on the map


def export_flows(release: Release | NoisyRelease, to: str, path: str | Path, *, overwrite: bool = False) -> Export:
    """Write the flows of a release in a format of other tools.

    to: "geojson" (a folder: areas as outlines, flows as lines), "gpkg" (GeoPackage with the same two layers),
    "flowmap-blue" (a folder: locations.csv and flows.csv), "omx" (Open Matrix), "skmob" (a folder: the columns of
    scikit-mobility's FlowDataFrame and its tessellation).
    """
    parse_choice(to, "format", FORMATS)
    module, names = _WRITERS[to]
    check = partial(_check_target, path, names, overwrite=overwrite)
    target = check()
    tables = read_tables(release)
    write = import_module(f"flowveil._export.{module}").write
    with new_file(check) if names is None else new_folder(check, 0o755) as new:
        written: int = write(tables, new)
    return Export(target, written, tables.flows.num_rows - written)


def _check_target(path: str | Path, names: tuple[str, ...] | None, *, overwrite: bool) -> Path:
    """Return the file or folder to write, or raise if it may not be written."""
    if names is None:
        return check_file(path, overwrite=overwrite)

    def is_own(folder: Path) -> bool:
        return {item.name for item in folder.iterdir()} <= set(names)

    return check_folder(path, "an earlier export of this format", is_own, overwrite=overwrite)
