"""Types of arrays, columns and tables, used everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import TypeIs

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
CountArray = npt.NDArray[np.int32]  # of numbers that are many and small
KeyArray = npt.NDArray[np.uint64]

# Any: which type a column of Arrow has, is known at run time only.
Column: TypeAlias = "pa.Array[Any]"
ChunkedColumn: TypeAlias = "pa.ChunkedArray[Any]"


class ArrowTable(Protocol):
    """A table that Arrow can read: of pyarrow, pandas, polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with a stream of the rows."""


class GeoFrame(ArrowTable, Protocol):
    """A frame of geopandas, which Arrow cannot read as it is: shapes are objects of Python."""

    geometry: Any  # the column of shapes that is active
    crs: Any  # None, or what its coordinates are

    def to_wkb(self) -> ArrowTable:
        """Return the frame with shapes as bytes."""

    def to_crs(self, crs: str) -> GeoFrame:
        """Return the frame in other coordinates."""


def is_geo_frame(source: object) -> TypeIs[GeoFrame]:
    """Whether this is a frame with shapes; whoever has one has geopandas, which need not be imported here."""
    return all(hasattr(source, name) for name in ("__arrow_c_stream__", "to_wkb", "to_crs")) and hasattr(source, "crs")


def texts(column: Column | ChunkedColumn) -> list[str]:
    """Return the values of a column of text that has no nulls."""
    return cast("list[str]", column.to_pylist())


def whole_numbers(column: Column | ChunkedColumn) -> list[int]:
    """Return the values of a column of integers that has no nulls."""
    return cast("list[int]", column.to_pylist())


def filled(column: Column | ChunkedColumn, value: int) -> IntArray:
    """Return a column of integers with a value in place of nulls."""
    untyped = cast("Any", column)  # the stubs of pyarrow want a scalar of Arrow
    return np.array(untyped.fill_null(value), np.int64)
