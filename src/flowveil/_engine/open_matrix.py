"""Open Matrix files (OMX), one cell a row."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flowveil._engine.shaping import COLUMN, ROW, VALUE
from flowveil._errors import InputError, UnknownNameError
from flowveil._processes import Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

_Found = tuple[list[pa.Table] | None, str, str, list[str] | None]
_HINT = "is it an OMX file?"
_LOOKUPS = ("area", "zone_id", "zone", "zones", "taz", "id")  # which names rows and columns, where a file has several

_MOST_ZONES = 50_000  # rows and columns of a matrix: more than those of the largest models of traffic
_CELLS_AT_A_TIME = 10_000_000


def read_matrices(paths: Iterable[str], names: Sequence[str] | None) -> pa.Table:
    """Return the cells that are not 0 of some matrices: names of row and column, value, and name of the matrix."""
    if find_spec("openmatrix") is None:  # an extra
        raise InputError("Open Matrix needs the package openmatrix", "pip install 'flowveil[export]'")
    with Worker(_read) as worker:
        try:
            tables, message, hint, there = worker.call((tuple(paths), names))
        except EOFError:
            tables, message, hint, there = None, "the Open Matrix file cannot be read: it is damaged", _HINT, None
    if there is not None:
        raise UnknownNameError("matrix", message, there)
    if tables is None:
        raise InputError(message, hint)
    return pa.concat_tables(tables)


def _read(asked: tuple[tuple[str, ...], Sequence[str] | None], _tell: object) -> _Found:
    """Return tables, or what is wrong, in a process of its own: a file that is damaged may end it.

    Where a matrix is not there, its name stands for what is wrong, beside those that are.
    """
    import openmatrix  # noqa: PLC0415  an extra

    paths, names = asked
    tables: list[pa.Table] = []
    for path in paths:
        try:
            with openmatrix.open_file(path, "r") as file:
                there = sorted(file.list_matrices())
                lacking = [name for name in names or () if name not in there]
                if lacking:
                    return None, lacking[0], "", there
                tables += _tables(file, there, Path(path).name, names)
        except InputError as error:
            return None, error.message, error.hint, None
        except Exception as error:  # noqa: BLE001  what a damaged file makes of libraries is not known
            reason = str(error).strip().splitlines()
            return None, f"the Open Matrix file {path!r} cannot be read: {reason[-1] if reason else ''}", _HINT, None
    return tables, "", "", None


def _tables(
    file: Any,  # openmatrix has no types
    there: list[str],
    name: str,
    names: Sequence[str] | None,
) -> list[pa.Table]:
    if names is None and len(there) != 1:
        raise InputError(
            f"{name!r} holds {len(there)} matrices: {', '.join(there)}",
            "choose with --matrices NAME, or several with commas between them and --by matrix",
        )
    return [_cells(file[chosen], file, chosen) for chosen in names or there]


def _cells(matrix: Any, file: Any, name: str) -> pa.Table:  # Any: openmatrix has no types
    """Return the cells of a matrix, which may be mostly zeros: a small file may unfold to a huge one."""
    if len(matrix.shape) != 2 or max(matrix.shape) > _MOST_ZONES:
        shape = " x ".join(f"{length:,}" for length in matrix.shape)
        raise InputError(
            f"the matrix {name!r} has {shape} cells, and {_MOST_ZONES:,} rows and columns can be read",
            "write its cells as a table with the columns origin, destination and count",
        )
    ends = [_zones(file, length) for length in matrix.shape]
    height = max(_CELLS_AT_A_TIME // max(matrix.shape[1], 1), 1)
    starts = range(0, matrix.shape[0], height)
    blocks = [_block(np.asarray(matrix[start : start + height]), start, ends, name) for start in starts]
    return pa.concat_tables(blocks or [_block(np.zeros((0, 0)), 0, ends, name)])


def _block(values: Any, start: int, ends: list[npt.NDArray[np.object_]], name: str) -> pa.Table:  # Any: any numbers
    """Return the cells of some rows of a matrix, of which the first has this number."""
    rows, columns = np.nonzero(np.nan_to_num(values))
    return pa.table(
        {
            ROW: pa.array(ends[0][rows + start], pa.string()),
            COLUMN: pa.array(ends[1][columns], pa.string()),
            VALUE: pa.array(values[rows, columns].astype(np.float64)),
            "matrix": pa.repeat(name, len(rows)),
        }
    )


def _zones(file: Any, length: int) -> npt.NDArray[np.object_]:  # Any: openmatrix has no types
    """Return the names of rows or columns: of a lookup that has as many, else their numbers from 1."""
    lookups = {name: getattr(file.root.lookup, name) for name in file.list_mappings()}
    fitting = {name for name, values in lookups.items() if len(values) == length}
    chosen = next((name for name in (*_LOOKUPS, *sorted(fitting)) if name in fitting), None)
    values = range(1, length + 1) if chosen is None else np.asarray(lookups[chosen]).tolist()
    names = [value.decode() if isinstance(value, bytes) else str(value) for value in values]
    if len(set(names)) < length:
        raise InputError(f"the lookup {chosen!r} of the matrices names two zones alike", "mend the file")
    return np.array(names, object)
