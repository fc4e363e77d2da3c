"""Files that DuckDB cannot read as they are, unpacked or written anew as UTF-8 where only their owner reads them."""

from __future__ import annotations

import codecs
import shutil
import tempfile
import weakref
import zipfile
import zlib
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_CHUNK = 1 << 22
_LOOKED_AT = (
    1 << 28
)  # bytes of a file that are looked at to know its encoding: what comes later is seen when it is read
_START = 1 << 12
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ZIP = ".zip"


class Unpacked:
    """Files in a folder of their own, which goes when nobody needs them any more."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.folder = stack.enter_context(scratch_folder())
        self._close = weakref.finalize(self, stack.close)

    def __reduce__(self) -> str | tuple[object, ...]:
        return _elsewhere, ()  # another process reads the files, and does not own them


def _elsewhere() -> None:
    return None


def ready(
    paths: Iterable[str], encoding: str | None, is_text: Callable[[str], bool], is_data: Callable[[str], bool]
) -> tuple[list[str], Unpacked | None, list[str]]:
    """Return files that DuckDB can read in the place of others, who owns those that are new, and what was assumed.

    Zip files are unpacked: all data in them. Text that is not UTF-8 is written anew.
    encoding: of text, if the user said it. is_text, is_data: whether the name of a file says so.
    """
    files: list[str] = []
    notes: list[str] = []
    unpacked: Unpacked | None = None
    for path in paths:
        parts = [path]
        if Path(path).suffix.lower() == _ZIP:
            unpacked = unpacked or Unpacked()
            parts = list(_unzip(path, unpacked.folder, len(files), is_data))
        for part in parts:
            if not is_text(part):
                files.append(part)
                continue
            found = encoding or find_encoding(part)
            if found is None or codecs.lookup(found).name == "utf-8":
                files.append(part)
                continue
            unpacked = unpacked or Unpacked()
            files.append(_as_utf_8(part, found, unpacked.folder / f"{len(files)}.csv"))
            if encoding is None:
                notes.append(f"{Path(part).name} is not UTF-8: it was read as {found} (--encoding if it is another)")
    return files, unpacked, notes


def _unzip(path: str, folder: Path, number: int, is_data: Callable[[str], bool]) -> Iterator[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [item for item in archive.infolist() if not item.is_dir() and _is_plain(item.filename)]
            members = [item for item in members if is_data(item.filename)]
            if not members:
                raise InputError(f"the zip file {path!r} holds no trips", "it holds CSV or Parquet files")
            if sum(item.file_size for item in members) > shutil.disk_usage(folder).free:
                raise InputError(
                    f"there is no room to unpack {path!r} in {tempfile.gettempdir()}", "unpack it where there is room"
                )
            for place, item in enumerate(sorted(members, key=lambda item: item.filename), number):
                target = folder / str(place) / Path(item.filename).name
                target.parent.mkdir(parents=True)
                with archive.open(item) as source, target.open("wb") as file:
                    shutil.copyfileobj(source, file, _CHUNK)
                yield str(target)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise InputError(f"the zip file {path!r} cannot be read: {error}", "unpack it and give its files") from None


def _is_plain(name: str) -> bool:
    """Whether a file of an archive is meant to be read: systems add notes of their own."""
    return not any(part.startswith((".", "_")) for part in Path(name).parts)


def find_encoding(path: str) -> str | None:
    """Return the encoding of a text file that is not UTF-8; None if it is."""
    state = Path(path).stat()
    try:
        return _find_encoding(path, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise _damaged(path, error) from None


def _damaged(path: str, error: OSError) -> InputError:
    return InputError(f"the file {path!r} cannot be read: {error}", "is it whole, and packed as its name says?")


@lru_cache(maxsize=256)
def _find_encoding(path: str, size: int, changed: int) -> str | None:  # noqa: ARG001  by which a file is known again
    decoder = codecs.getincrementaldecoder("utf-8")()
    windows = codecs.getincrementaldecoder("cp1252")()
    is_utf_8 = is_windows = True
    seen = 0
    with pa.input_stream(path, compression="detect") as file:
        while seen < _LOOKED_AT and (chunk := file.read(_CHUNK)):
            if seen == 0 and (wide := _wide(chunk[:_START])):
                return wide
            seen += len(chunk)
            is_utf_8 = is_utf_8 and _decodes(decoder, chunk)
            is_windows = is_windows and _decodes(windows, chunk)
    if is_utf_8:
        return None
    return "cp1252" if is_windows else "latin-1"


def _wide(start: bytes) -> str | None:
    """Return the encoding of text of two bytes a letter: it has a mark in front, or nothing in every other byte."""
    if start.startswith(_UTF_16):
        return "utf-16"
    even, odd = start[::2], start[1::2]
    if odd and odd.count(0) > len(odd) / 2 and not even.count(0):
        return "utf-16-le"
    return "utf-16-be" if even.count(0) > len(even) / 2 and not odd.count(0) else None


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes) -> bool:
    try:
        decoder.decode(chunk)
    except UnicodeDecodeError:
        return False
    return True


def _as_utf_8(path: str, encoding: str, target: Path) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with pa.input_stream(path, compression="detect") as file, target.open("w", encoding="utf-8", newline="") as new:
            while chunk := file.read(_CHUNK):
                new.write(decoder.decode(chunk))
            new.write(decoder.decode(b"", final=True))
    except OSError as error:
        raise _damaged(path, error) from None
    except UnicodeError as error:
        reason = getattr(error, "reason", "a letter is missing")
        raise InputError(
            f"{Path(path).name!r} cannot be read as {encoding}: {reason}", "name its encoding with --encoding"
        ) from None
    return str(target)
