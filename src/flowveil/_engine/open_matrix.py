"""Open Matrix files (OMX), one cell a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flowveil._engine.shaping import COLUMN, ROW, VALUE
from flowveil._errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

_LOOKUPS = ("area", "zone_id", "zone", "zones", "taz", "id")  # which names rows and columns, where a file has several


def read_matrices(paths: Iterable[str], names: Sequence[str] | None) -> pa.Table:
    """Return the cells that are not 0 of some matrices: names of row and column, value, and name of the matrix."""
    try:
        import openmatrix  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError("Open Matrix needs the package openmatrix", "pip install 'flowveil[export]'") from None
    tables: list[pa.Table] = []
    for path in paths:
        try:
            with openmatrix.open_file(path, "r") as file:
                tables += _tables(file, Path(path).name, names)
        except (OSError, LookupError, ValueError, AttributeError, RuntimeError) as error:
            if isinstance(error, InputError):
                raise
            reason = str(error).strip().splitlines()
            raise InputError(
                f"the Open Matrix file {path!r} cannot be read: {reason[-1] if reason else ''}", "is it an OMX file?"
            ) from None
    return pa.concat_tables(tables)


def _tables(file: Any, name: str, names: Sequence[str] | None) -> list[pa.Table]:  # Any: openmatrix has no types
    there = sorted(file.list_matrices())
    if names is None and len(there) != 1:
        raise InputError(
            f"{name!r} holds {len(there)} matrices: {', '.join(there)}",
            "choose with --matrices NAME, or several with commas between them and --by matrix",
        )
    for chosen in names or ():
        if chosen not in there:
            raise UnknownNameError("matrix", chosen, there)
    return [_cells(np.asarray(file[chosen]), file, chosen) for chosen in names or there]


def _cells(values: Any, file: Any, name: str) -> pa.Table:  # Any: an array of any numbers
    rows, columns = np.nonzero(np.nan_to_num(values))
    ends = [_zones(file, length) for length in values.shape]
    return pa.table(
        {
            ROW: pa.array(ends[0][rows], pa.string()),
            COLUMN: pa.array(ends[1][columns], pa.string()),
            VALUE: pa.array(values[rows, columns].astype(np.float64)),
            "matrix": pa.repeat(name, len(rows)),
        }
    )


def _zones(file: Any, length: int) -> npt.NDArray[np.object_]:  # Any: openmatrix has no types
    """Return the names of rows or columns: of a lookup that has as many, else their numbers from 1."""
    lookups = {name: np.asarray(getattr(file.root.lookup, name)) for name in file.list_mappings()}
    fitting = {name: values for name, values in lookups.items() if len(values) == length}
    chosen = next((name for name in (*_LOOKUPS, *sorted(fitting)) if name in fitting), None)
    values = range(1, length + 1) if chosen is None else fitting[chosen].tolist()
    names = [value.decode() if isinstance(value, bytes) else str(value) for value in values]
    if len(set(names)) < length:
        raise InputError(f"the lookup {chosen!r} of the matrices names two zones alike", "mend the file")
    return np.array(names, object)
