"""Writing a release in another format: complete or not at all."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from flowveil._errors import InputError
from flowveil._export.tables import read_tables
from flowveil._folder import check_file, check_folder, new_file, new_folder
from flowveil._options import parse_choice

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._folder import Files, Kind


class Format(NamedTuple):
    """A format of another tool."""

    module: str  # that writes it
    files: tuple[str, ...]  # of its folder; none: it is one file
    ending: str = ""  # of its file
    holds: tuple[str, ...] = ("flows",)  # what of a release can be written: flows, cells, trajectories, samples


_TABLES = (
    "flows.csv",
    "areas.csv",
    "members.csv",
    "cells.csv",
    "marginals.csv",
    "trajectories.csv",
    "samples.csv",
    "places.csv",
    "model.csv",
)  # those that a release has
_ALL, _DRAWN = ("flows", "cells", "trajectories", "samples"), ("flows", "trajectories")
FORMATS = {
    "csv": Format("comma_separated", _TABLES, holds=_ALL),
    "excel": Format("excel", (), ".xlsx", holds=_ALL),
    "datapackage": Format("datapackage", ("datapackage.json", *_TABLES), holds=_ALL),
    "dcat": Format("dcat", (), ".jsonld", holds=_ALL),
    "geojson": Format("geojson", ("areas.geojson", "flows.geojson", "trajectories.geojson"), holds=_DRAWN),
    "gpkg": Format("geopackage", (), ".gpkg"),
    "flowmap-blue": Format("flowmap_blue", ("locations.csv", "flows.csv")),
    "omx": Format("omx", (), ".omx"),
    "skmob": Format("skmob", ("flows.csv", "tessellation.geojson", "trajectories.csv"), holds=(*_DRAWN, "samples")),
    "movingpandas": Format("movingpandas", (), ".parquet", holds=("trajectories", "samples")),
    "gpx": Format("gpx", (), ".gpx", holds=("trajectories",)),
}


class Export(NamedTuple):
    """What was written, and what the format could not hold.

    >>> fv.export("release", "flowmap-blue", "map", overwrite=True).left_out
    0
    """

    path: Path
    flows: int  # written; of boxes with noise and trajectories: rows
    left_out: int  # flows that the format cannot hold, as an end has no place on the map


def export_release(files: Files, to: str, path: str | Path, *, overwrite: bool = False) -> Export:
    """Write a release in a format of other tools: any of `FORMATS`, or of those that hold more than flows."""
    form = find_format(to)
    check = partial(_check_target, path, form.files, overwrite=overwrite)
    target = check()
    tables = read_tables(files)
    write = import_module(f"flowveil._export.{form.module}").write
    with new_folder(check, 0o755) if form.files else new_file(check) as new:
        written: int = write(tables, new)
    return Export(target, written, tables.rows.num_rows - written)


def find_format(to: str) -> Format:
    """Return a format by its name, or raise."""
    return FORMATS[parse_choice(to, "format", tuple(FORMATS))]


def formats_of(content: str) -> list[str]:
    """Return the formats that can hold flows, cells, trajectories or samples."""
    return [name for name, form in FORMATS.items() if content in form.holds]


def check_format(to: str, kind: Kind) -> None:
    """Raise InputError if a format has no place for a kind of release; the hint names those that have."""
    content = kind.tables[0].removesuffix(".parquet")
    if content in find_format(to).holds:
        return
    *others, last = formats_of(content)
    message = f"the format {to} holds {' and '.join(find_format(to).holds)}, and this is a release of {kind.title}"
    raise InputError(message, f"export it to {', '.join(others)} or {last}")


def _check_target(path: str | Path, names: tuple[str, ...], *, overwrite: bool) -> Path:
    """Return the file or folder to write, or raise if it may not be written."""
    if not names:
        return check_file(path, overwrite=overwrite)

    def is_own(folder: Path) -> bool:
        return {item.name for item in folder.iterdir()} <= set(names)

    return check_folder(path, "an earlier export of this format", is_own, overwrite=overwrite)
