"""How CSV files are read: what DuckDB is told of them, and what it may guess."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

# DuckDB guesses separator and types. It may not guess comments or lines to skip: it would leave out trips in silence.
_OPTIONS = "header = true, union_by_name = true, comment = '', quote = '\"'"
_SEPARATOR = re.compile(rb"(\xef\xbb\xbf)?sep=.\r?\n", re.IGNORECASE)  # a line for spreadsheets, before the header
_PEEK = 1 << 16  # bytes of the beginning and of the end of a file
_PACKED = {".gz", ".zst"}
_NUMBERED = re.compile(r"(.+)_[0-9]+")


def csv_options(paths: Iterable[str]) -> str:
    """Return the options of `read_csv` for files: all that DuckDB's guesses need to know of their bytes.

    Line ends that are not all alike (a last line that another program added) are an error to DuckDB unless it is not
    strict; it then still refuses lines with too many values.
    """
    ends = [_ends(Path(path)) for path in paths if Path(path).suffix.lower() not in _PACKED]
    told = bool(ends) and all(_SEPARATOR.match(start) for start, _ in ends)
    options = f"{_OPTIONS}, skip = {int(told)}"
    if any(_is_mixed(start) or _is_mixed(start + end) for start, end in ends):
        return f"{options}, strict_mode = false"
    return options


def named_anew(path: str, names: Iterable[str]) -> list[str]:
    """Return the columns that DuckDB gave a name, since one before them is called so: NAME_1 that no file has."""
    there = list(names)
    known = {name.casefold() for name in there}
    numbered = [name for name in there if (found := _NUMBERED.fullmatch(name)) and found[1].casefold() in known]
    if not numbered:
        return []
    with pa.input_stream(path, compression="detect") as file:
        start = file.read(_PEEK).decode(errors="replace")
    return [name for name in numbered if name not in start]


def _ends(path: Path) -> tuple[bytes, bytes]:
    """Return the first and the last bytes of a file."""
    with path.open("rb") as file:
        start = file.read(_PEEK)
        file.seek(max(path.stat().st_size - _PEEK, 0))
        return start, file.read()


def _is_mixed(text: bytes) -> bool:
    """Whether some lines end with a carriage return and some do not."""
    return b"\r\n" in text and re.search(rb"(?<!\r)\n", text) is not None
