"""What occurs in an array, found with a hash table: most arrays of a batch have few values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


def distinct(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the values that occur, each once in the order of its first place, and which of them each entry is."""
    encoded = pa.array(values).dictionary_encode()
    return encoded.dictionary.to_numpy(), encoded.indices.to_numpy().astype(np.int64)
