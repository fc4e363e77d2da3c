"""A comparison as files: Parquet, Markdown and a chart. Private, since exact figures are computed from true trips."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil.charts import comparison_svg
from flowveil.compare._table import markdown

if TYPE_CHECKING:
    import pyarrow as pa

TABLE, DOCUMENT, CHART = "compare.parquet", "compare.md", "compare.svg"


def check_folder(path: str | Path, *, overwrite: bool) -> Path:
    """Return the folder to write, or raise if it may not be written."""
    folder = Path(path).resolve()
    if not folder.parent.is_dir():
        raise InputError(f"there is no folder {str(folder.parent)!r} to write to", "make it first")
    if folder.exists():
        if not overwrite:
            raise InputError(f"the folder {str(path)!r} exists", "choose another name, or add --overwrite")
        if not folder.is_dir() or {item.name for item in folder.iterdir()} - {TABLE, DOCUMENT, CHART}:
            raise InputError(f"{str(path)!r} is not a comparison", "flowveil overwrites nothing but its own files")
    return folder


def write_comparison(table: pa.Table, path: str | Path, title: str, *, overwrite: bool = False) -> Path:
    """Write a comparison to a folder that only its owner may read."""
    folder = check_folder(path, overwrite=overwrite)
    folder.mkdir(mode=0o700, exist_ok=True)
    pq.write_table(table, folder / TABLE, compression="zstd")
    (folder / DOCUMENT).write_text(f"# {title}\n\n{markdown(table)}", encoding="utf-8")
    (folder / CHART).write_text(comparison_svg(table, title), encoding="utf-8")
    return folder
