"""Files that claim more than anyone has."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

import flowveil as fv

_MOST_ROWS = {"trips": 2_000_000_000, "zones": 5_000_000}  # a few kilobytes of Parquet can claim any number of rows
_MOST_BYTES = {"trips": 1_000_000_000_000, "zones": 4_000_000_000}


def refuse_bombs(path: str, kind: str) -> None:
    """Raise if a Parquet file claims more rows or bytes than anyone has."""
    if not path.endswith((".parquet", ".pq")):
        return
    try:
        about = pq.read_metadata(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise fv.InputError(f"the Parquet file cannot be read: {error}", "write the file again") from None
    expanded = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    if about.num_rows > _MOST_ROWS[kind] or expanded > _MOST_BYTES[kind]:
        raise fv.InputError(
            f"the file claims {about.num_rows:,} rows and {expanded / 1e9:,.0f} GB", "use the command line for it"
        )
