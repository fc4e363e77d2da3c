"""Parquet files in the cloud, read where they are, through the file systems that Arrow brings with it."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.fs

from flowveil._errors import InputError

if TYPE_CHECKING:
    from pyarrow import dataset

    from flowveil._engine.source import CloudSource

_ADDRESS = re.compile(r"[a-z][a-z0-9+]+://")
_KEYS = re.compile(r"//[^/@]*@|\?.*")  # parts of an address that may be secret
_ENDINGS = (".parquet", ".pq")
_HINT = "check the address and your rights; keys are taken from where the cloud's own tools keep them"


def is_address(source: str) -> bool:
    """Whether a source is an address such as s3://..., not a path."""
    return _ADDRESS.match(source) is not None


def list_files(address: str) -> tuple[str, ...]:
    """Return the Parquet files that an address names: a file, those of a folder, or those of a pattern with *."""
    system, path = _open(address)
    folder = path.split("*")[0].rpartition("/")[0] if "*" in path else path.rstrip("/")
    try:
        one = system.get_file_info(folder)
        if one.type == pa.fs.FileType.File:
            return (folder,)
        items = system.get_file_info(pa.fs.FileSelector(folder, recursive=True, allow_not_found=True))
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(address, error) from None
    pattern = path if "*" in path else f"{folder}/*"
    files = [item.path for item in items if item.type == pa.fs.FileType.File and fnmatchcase(item.path, pattern)]
    data = sorted(file for file in files if file.endswith(_ENDINGS) and not re.search(r"/[._][^/]*$", file))
    if not data:
        raise InputError(
            f"there is no Parquet file at {_shown(address)}",
            "trips in the cloud are Parquet; copy other files here first",
        )
    return tuple(data)


def cloud_dataset(source: CloudSource) -> dataset.Dataset:
    """Return files as a dataset of Arrow, which fetches only the columns and rows that DuckDB asks for.

    Keys in names of folders (day=007) are text.
    """
    from pyarrow import dataset  # noqa: PLC0415  slow to import

    system, _ = _open(source.address)
    keys = dict.fromkeys(part.split("=")[0] for part in source.paths[0].split("/")[:-1] if "=" in part)
    try:
        return dataset.dataset(
            list(source.paths),
            format="parquet",
            filesystem=system,
            partitioning=dataset.partitioning(pa.schema([(key, pa.string()) for key in keys]), flavor="hive"),
        )
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(source.address, error) from None


def _open(address: str) -> tuple[pa.fs.FileSystem, str]:
    try:
        system, path = pa.fs.FileSystem.from_uri(address)
    except (pa.ArrowException, OSError) as error:
        scheme = address.split("://", maxsplit=1)[0]
        if "Unrecognized" in str(error) or isinstance(error, NotImplementedError):
            raise InputError(
                f"trips cannot be read from {scheme}://",
                "use s3://, gs://, abfs://, postgresql:// or files on this machine",
            ) from None
        raise _unreadable(address, error) from None
    return system, path


def _unreadable(address: str, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return InputError(f"{_shown(address)} cannot be read: {_KEYS.sub('', reason)}", _HINT)


def _shown(address: str) -> str:
    return _KEYS.sub(lambda match: "//" if match[0].startswith("//") else "", address)
