"""A study's folder: settings, finished cells, results. Private; a run that was killed goes on where it stopped."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow.csv
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import find_target, hold, parse_json, private_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from flowveil._folder import Json
    from flowveil._study.cells import Cell, Row

SETTINGS, CELLS = "study.json", "cells"
TABLE, SUMMARY, DOCUMENT = "study", "summary", "study.md"
PRIVATE = "Private: computed from true trips."


@contextmanager
def open_folder(path: str | Path, settings: Mapping[str, Json], *, overwrite: bool = False) -> Iterator[StudyFolder]:
    """Make the folder of a study, or go on with one of the same settings; nobody else may work in it meanwhile."""
    check_study(path)
    target = find_target(path, "folder")
    target.mkdir(mode=0o700, exist_ok=True)
    try:
        with hold(target, 0):
            _prepare(target, str(path), json.loads(json.dumps(dict(settings))), overwrite=overwrite)
            yield StudyFolder(target)
    except BlockingIOError:
        raise InputError(f"a study is being run in {str(path)!r}", "wait for it, or choose another folder") from None


def check_study(path: str | Path) -> None:
    """Raise if no study may be written there; whether one that is there has other settings shows later."""
    target = find_target(path, "folder")
    if target.exists() and not target.is_dir():
        raise InputError(f"{str(path)!r} exists and is not a folder", "choose another name")
    if target.is_dir() and any(target.iterdir()) and not (target / SETTINGS).is_file():
        raise InputError(f"the folder {str(path)!r} is not a study", "choose another name")


def _prepare(target: Path, name: str, settings: dict[str, Json], *, overwrite: bool) -> None:
    file = target / SETTINGS
    if file.is_file():
        before = _read(file)
        if before == settings:
            return
        if not overwrite:
            other = [key for key in settings if not isinstance(before, dict) or before.get(key) != settings[key]]
            raise InputError(
                f"{name!r} holds a study with other settings ({', '.join(other) or 'more of them'})",
                "ask for the same to go on with it, choose another folder, or add --overwrite to begin anew",
            )
        for item in target.iterdir():
            shutil.rmtree(item) if item.is_dir() else item.unlink()
    (target / CELLS).mkdir(mode=0o700, exist_ok=True)
    with private_file(file, overwrite=True) as new:
        new.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


class StudyFolder:
    """The files of a study. Each is complete or not there, whatever kills the process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, cell: Cell, rows: list[Row]) -> None:
        """Write a cell that is done."""
        with private_file(self._file(cell), overwrite=True) as new:
            new.write_text(json.dumps(rows, allow_nan=False), encoding="utf-8")

    def kept(self, cell: Cell) -> list[Row] | None:
        """Return the rows of a cell that an earlier run has done; None if there is none."""
        file = self._file(cell)
        rows = _read(file) if file.is_file() else None
        return rows if isinstance(rows, list) else None

    def write_table(self, table: pa.Table, name: str) -> None:
        """Write a table as Parquet and CSV."""
        with private_file(self.path / f"{name}.parquet", overwrite=True) as new:
            pq.write_table(table, new, compression="zstd")
        with private_file(self.path / f"{name}.csv", overwrite=True) as new:
            pyarrow.csv.write_csv(table, new)

    def write_text(self, text: str, name: str) -> None:
        """Write a document or a picture."""
        with private_file(self.path / name, overwrite=True) as new:
            new.write_text(text, encoding="utf-8")

    def _file(self, cell: Cell) -> Path:
        name = re.sub(r"[^\w.-]", "-", cell.name)
        return self.path / CELLS / f"{name}.json"


def _read(file: Path) -> Json:
    """Return what a file holds; None if it is not whole, which then counts as not there."""
    try:
        return parse_json(file.read_bytes())
    except (OSError, ValueError, InputError):
        return None
