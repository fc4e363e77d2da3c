"""Files that unfold to more than anyone has: they are refused before they are read.

Trips of Parquet and CSV are read piece by piece, so their bound is about time. Zones and Arrow files are held in
memory. Beyond these bounds stands the memory that the worker may have.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

import flowveil as fv
from flowveil._app.arrow_sizes import unfolded

MOST_ROWS = {"trips": 2_000_000_000, "zones": 5_000_000}  # a few kilobytes of Parquet can claim any number of rows
MOST_BYTES = {"trips": 200_000_000_000, "zones": 1_000_000_000}
MOST_IN_MEMORY = 4_000_000_000  # bytes of an Arrow file
_DEFLATE = 1_032  # what a byte of gzip unfolds to at most
_PACKED: dict[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd"}
_PIECE = 1_000_000  # bytes that are unpacked at a time
_ROWS = 1_000  # of zones that are unpacked at a time


@cache
def refuse_bombs(path: str, kind: str) -> None:
    """Raise if a file unfolds to more rows or bytes than anyone has; kind: trips or zones. Files do not change."""
    file = Path(path)
    try:
        if file.suffix in (".parquet", ".pq"):
            _check_parquet(file, kind)
        elif file.suffix in (".arrow", ".feather"):
            _check_arrow(file, kind)
        elif file.suffix in _PACKED:
            _check_packed(file, kind)
        else:
            _check(0, file.stat().st_size, kind, MOST_BYTES[kind])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise fv.InputError(f"the {file.suffix} file cannot be read: {error}", "write the file again") from None


def _check_parquet(file: Path, kind: str) -> None:
    about = pq.read_metadata(file)
    claimed = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    _check(about.num_rows, claimed, kind, MOST_BYTES[kind])
    if kind == "zones":  # one value may stand for many: what is claimed is what is written
        size = 0
        for batch in pq.ParquetFile(file).iter_batches(_ROWS):
            size += batch.nbytes
            _check(0, size, kind, MOST_BYTES[kind])


def _check_arrow(file: Path, kind: str) -> None:
    with file.open("rb") as start:
        if start.read(4) == b"FEA1":  # Feather's first version, which does not compress
            return
    claimed = unfolded(file)
    _check(claimed.rows, claimed.bytes, kind, MOST_IN_MEMORY)


def _check_packed(file: Path, kind: str) -> None:
    """Unpack a file, piece by piece, until it is too large, unless it is too small for that."""
    if file.suffix == ".gz" and file.stat().st_size * _DEFLATE <= MOST_BYTES[kind]:
        return
    size = 0
    with pa.input_stream(str(file), compression=_PACKED[file.suffix]) as stream:
        while piece := stream.read(_PIECE):
            size += len(piece)
            _check(0, size, kind, MOST_BYTES[kind])


def _check(rows: int, size: int, kind: str, most: int) -> None:
    if rows > MOST_ROWS[kind]:
        raise fv.InputError(f"the file claims {rows:,} rows", "use the command line for it")
    if size > most:
        raise fv.InputError(
            f"the file unfolds to {size / 1e9:,.3g} GB or more, and the app reads {most / 1e9:,.3g} GB of such {kind}",
            "write it as Parquet, which is read piece by piece, or use the command line",
        )
