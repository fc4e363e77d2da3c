"""Trips of a release as one value of a database, and back."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._register.entries import Layer, StoredTrips

if TYPE_CHECKING:
    import numpy.typing as npt


def pack(trips: StoredTrips) -> bytes:
    """Return trips as bytes."""
    arrays: dict[str, npt.NDArray[Any]] = {"mark": trips.mark}  # Any: of several types
    if (trips.trips != 1).any():
        arrays["trips"] = trips.trips
    optional = {"owner": trips.owner, "weight": trips.weight}
    arrays |= {name: column for name, column in optional.items() if column is not None}
    for number, layer in enumerate(trips.layers):
        arrays[f"flow_{number}"] = layer.flow.astype(np.int32)
    names = json.dumps([layer.names for layer in trips.layers])
    arrays["names"] = np.frombuffer(names.encode(), np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def unpack(content: bytes) -> StoredTrips:
    """Return trips from bytes."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        mark = arrays["mark"]
        names = json.loads(arrays["names"].tobytes())
        return StoredTrips(
            mark=mark,
            owner=arrays.get("owner"),
            trips=arrays["trips"] if "trips" in arrays else np.ones(len(mark), np.int64),
            weight=arrays.get("weight"),
            layers=tuple(Layer(arrays[f"flow_{number}"].astype(np.int64), flows) for number, flows in enumerate(names)),
        )
