"""A comparison as files: Parquet, Markdown and a chart. Private, since exact figures are computed from true trips."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from flowveil._charts import comparison_svg
from flowveil._folder import check_folder, make_private, new_folder
from flowveil._study.table import markdown

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

TABLE, DOCUMENT, CHART = "compare.parquet", "compare.md", "compare.svg"


def check_target(path: str | Path, *, overwrite: bool) -> Path:
    """Return the folder to write, or raise if it may not be written."""
    return check_folder(path, "a comparison", _is_comparison, overwrite=overwrite)


def _is_comparison(folder: Path) -> bool:
    return {item.name for item in folder.iterdir()} <= {TABLE, DOCUMENT, CHART}


def write_comparison(table: pa.Table, path: str | Path, title: str, *, overwrite: bool = False) -> Path:
    """Write a comparison to a folder that only its owner may read."""
    folder = check_target(path, overwrite=overwrite)
    with new_folder(lambda: check_target(path, overwrite=overwrite), 0o700) as new:
        pq.write_table(table, make_private(new / TABLE), compression="zstd")
        make_private(new / DOCUMENT).write_text(f"# {title}\n\n{markdown(table)}", encoding="utf-8")
        make_private(new / CHART).write_text(comparison_svg(table, title), encoding="utf-8")
    return folder
