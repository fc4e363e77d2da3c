"""Tables that commands write, as Parquet or CSV by the ending of their name."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import check_file, public_file

_KINDS = (".parquet", ".csv")


def check_table(path: Path, *, overwrite: bool) -> None:
    """Raise if a table may not be written there."""
    if path.suffix.lower() not in _KINDS:
        raise InputError(f"{str(path)!r} is not a file to write", "name it like -o flows.parquet or -o flows.csv")
    check_file(path, overwrite=overwrite)


def write_table(table: pa.Table, path: Path, *, overwrite: bool) -> None:
    """Write a table, complete or not at all."""
    with public_file(path, overwrite=overwrite) as new:
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(table, new)
        else:
            pq.write_table(table, new, compression="zstd")
