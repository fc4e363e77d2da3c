"""How CSV files are read: what DuckDB is told of them, and what it may guess."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

# DuckDB guesses separator and types. It may not guess comments or lines to skip: it would leave out trips in silence.
_OPTIONS = "header = true, union_by_name = true, skip = 0, comment = '', quote = '\"'"
_PEEK = 1 << 16  # bytes of the beginning and of the end of a file
_PACKED = {".gz", ".zst"}
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def csv_options(paths: Iterable[str]) -> str:
    """Return the options of `read_csv` for files: all that DuckDB's guesses need to know of their bytes.

    Line ends that are not all alike (a last line that another program added) are an error to DuckDB unless it is not
    strict; it then still refuses lines with too many values. Text of two bytes a character has a mark in front.
    """
    ends = [_ends(Path(path)) for path in paths if Path(path).suffix.lower() not in _PACKED]
    wide = [start.startswith(_UTF_16) for start, _ in ends]
    options = [_OPTIONS]
    if any(wide) and not all(wide):
        raise InputError("some of the files are UTF-16, and some are not", "save them all as UTF-8")
    if any(wide):
        options.append("encoding = 'utf-16'")
    elif any(_is_mixed(start) or _is_mixed(start + end) for start, end in ends):
        options.append("strict_mode = false")
    return ", ".join(options)


def _ends(path: Path) -> tuple[bytes, bytes]:
    """Return the first and the last bytes of a file."""
    with path.open("rb") as file:
        start = file.read(_PEEK)
        file.seek(max(path.stat().st_size - _PEEK, 0))
        return start, file.read()


def _is_mixed(text: bytes) -> bool:
    """Whether some lines end with a carriage return and some do not."""
    return b"\r\n" in text and re.search(rb"(?<!\r)\n", text) is not None
