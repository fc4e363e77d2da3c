"""Open Matrix: areas by areas, one matrix for each amount, step of time and group."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from flowveil._arrays import texts
from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil._export.tables import Tables

_SIDES = ("origin", "destination")
_AMOUNTS = ("trips", "persons", "weight")
_MOST_CELLS = 100_000_000  # of one matrix: it is written whole, 800 MB in memory


def write(tables: Tables, path: Path) -> int:
    """Write matrices named after what they count and their key; lookups `area` and `name` tell rows and columns."""
    try:
        import openmatrix  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError("Open Matrix needs the package openmatrix", "pip install 'flowveil[export]'") from None
    names = texts(tables.areas["area"])
    if len(names) ** 2 > _MOST_CELLS:
        raise InputError(f"a matrix of {len(names):,} by {len(names):,} areas is too large", "use another format")
    place = {name: number for number, name in enumerate(names)}
    ends = [np.array([place[name] for name in texts(tables.flows[side])], np.int64) for side in _SIDES]
    with openmatrix.open_file(str(path), "w") as file:
        used: set[str] = set()
        for key, rows in _parts(tables.flows, tables.keys):
            amounts = [name for name in _AMOUNTS if name in tables.flows.column_names]
            for amount in (*amounts, *tables.marks):
                matrix = np.zeros((len(names), len(names)))
                np.add.at(matrix, (ends[0][rows], ends[1][rows]), tables.flows[amount].to_numpy()[rows])
                title = ", ".join(f"{name}={value}" for name, value in key.items())
                file.create_matrix(_name(amount, key, used), obj=matrix, title=title)
        file.create_array(file.root.lookup, "area", obj=np.array([name.encode() for name in names]))
        spoken = [name or area for name, area in zip(tables.areas["name"].to_pylist(), names, strict=True)]
        file.create_array(file.root.lookup, "name", obj=np.array([name.encode() for name in spoken]))
    return int(tables.flows.num_rows)


def _parts(flows: pa.Table, keys: list[str]) -> Iterator[tuple[dict[str, object], IntArray]]:
    """Yield every combination of keys with the numbers of its flows."""
    values = list(zip(*(flows[key].to_pylist() for key in keys), strict=True)) if keys else [()] * flows.num_rows
    rows: dict[tuple[object, ...], list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(value, []).append(row)
    for value in sorted(rows, key=str):
        yield dict(zip(keys, value, strict=True)), np.array(rows[value], np.int64)


def _name(amount: str, key: dict[str, object], used: set[str]) -> str:
    """Return a name of letters, digits and underscores, as programs that read the format expect."""
    plain = re.sub(r"[^0-9A-Za-z]+", "_", "_".join([amount, *map(str, key.values())])).strip("_")
    name, number = plain, 2
    while name in used:
        name, number = f"{plain}_{number}", number + 1
    used.add(name)
    return name
