"""Rows of the input: which of them count as trips, and what occurs in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._engine import Request

_LARGEST_COUNT = 1e12  # trips of one row
_LARGEST_WEIGHT = 1e9  # people one person may stand for
_MILLION = 1e6


def usable_rows(batch: pa.RecordBatch, request: Request, bbox: tuple[float, float, float, float] | None) -> BoolArray:
    """Return which rows have both ends, on the globe and in the bbox, and a person and a count where asked for.

    Whether a zone is known is for the places to say.
    """
    good = np.ones(batch.num_rows, bool)
    for name in request.columns:
        if request.by_zone:
            good &= _is_valid(batch, name)
            continue
        is_longitude = name.endswith("lon")
        low, high = (-180.0, 180.0) if is_longitude else (-90.0, 90.0)
        if bbox is not None:
            low, high = (bbox[0], bbox[2]) if is_longitude else (bbox[1], bbox[3])
        values = _doubles(batch, name)
        with np.errstate(invalid="ignore"):
            good &= _is_valid(batch, name) & (values >= low) & (values <= high)
    if request.unit:
        good &= _is_valid(batch, "unit")
    if request.time:
        good &= _is_valid(batch, "time")
    if request.count:
        count = _doubles(batch, "count")
        with np.errstate(invalid="ignore"):
            good &= _is_valid(batch, "count") & (count >= 1) & (count <= _LARGEST_COUNT) & (count == np.floor(count))
    return good


def whole_millionths(weight: FloatArray, column: str) -> IntArray:
    """Return weights as whole numbers of millionths, halves rounded up."""
    with np.errstate(invalid="ignore"):
        good = (weight >= 0) & (weight <= _LARGEST_WEIGHT)
    if not good.all():
        raise InputError(
            f"the weight column {column!r} has values that are not numbers of people",
            "weights are finite, not negative and at most 1e9; drop other rows with --where",
        )
    scaled = weight * _MILLION
    down = np.floor(scaled)
    millionths: IntArray = down.astype(np.int64) + (scaled - down >= 0.5)
    return millionths


def distinct(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the values that occur, each once in the order of its first place, and which of them each entry is.

    A hash table finds them: most arrays of a batch have few values.
    """
    encoded = pa.array(values).dictionary_encode()
    return encoded.dictionary.to_numpy(), encoded.indices.to_numpy().astype(np.int64)


def _is_valid(batch: pa.RecordBatch, name: str) -> BoolArray:
    valid: BoolArray = batch.column(name).is_valid().to_numpy(zero_copy_only=False)
    return valid


def _doubles(batch: pa.RecordBatch, name: str) -> FloatArray:
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.float64)
