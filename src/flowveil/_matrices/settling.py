"""Counts without negative ones: what noise left below zero is settled between neighbors, from the whole down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

# How likely it is, before the counts are seen, that all trips of two neighbors lie in the first, or in the second:
# space is mostly empty. The best of 0, 0.1, 0.3, 0.45, 0.49 and more on a synthetic city (docs/noise-measured.md).
_ALL_IN_ONE = 0.45
_LEAST = 1e-300


def non_negative(counts: IntArray, variances: FloatArray) -> IntArray:
    """Return counts that are not negative and keep the total (zero if that is negative), in whole numbers.

    variances: of the noise. Rows are in an order of places, so that rows that follow each other are neighbors. The
    total is divided between the first and the second half of all rows, each part between its halves, and so on. A half
    gets what is to be expected of it, given its noisy sum, that of the other half and what they have together: by
    least squares in proportion to the variances, drawn to none or all where the sums cannot tell these from noise.
    Without a negative count, nothing is to be settled.
    """
    if not (counts < 0).any():
        return counts
    rows = len(counts)
    size = 1 << max(rows - 1, 0).bit_length()
    sums, spread = np.zeros(2 * size), np.zeros(2 * size)  # a heap: node 1 is the whole, node n has 2 n and 2 n + 1
    sums[size : size + rows], spread[size : size + rows] = counts, variances
    level = size
    while level > 1:
        for heap in (sums, spread):
            heap[level // 2 : level] = heap[level : 2 * level : 2] + heap[level + 1 : 2 * level : 2]
        level //= 2
    settled = np.zeros(2 * size)
    settled[1] = max(float(sums[1]), 0.0)
    while level < size:
        left, right = slice(2 * level, 4 * level, 2), slice(2 * level + 1, 4 * level, 2)
        both = settled[level : 2 * level]
        noise = spread[left] + spread[right]
        weight = np.divide(spread[left], noise, out=np.ones(len(noise)), where=noise > 0)
        least_squares = sums[left] + weight * (both - sums[left] - sums[right])
        deviation = np.sqrt(weight * (1 - weight) * noise)
        settled[left] = np.where(deviation > 0, _expected(least_squares, deviation, both), weight * both)
        settled[right] = both - settled[left]
        level *= 2
    return settled[size : size + rows].astype(np.int64)


def _expected(estimate: FloatArray, deviation: FloatArray, most: FloatArray) -> FloatArray:
    """Return what an estimate with noise stands for, a whole number from 0 to `most`: none, all, or any as likely."""
    scale = np.where(deviation > 0, deviation, 1.0)
    low, high = -estimate / scale, (most - estimate) / scale
    at_low, at_high = (np.exp(-np.minimum(end**2 / 2, 700)) / np.sqrt(2 * np.pi) for end in (low, high))
    between = np.maximum(ndtr(high) - ndtr(low), _LEAST)
    middle = np.clip(estimate + scale * (at_low - at_high) / between, 0, most)
    any_number = (1 - 2 * _ALL_IN_ONE) * between / np.maximum(most, 1)
    none, everything = _ALL_IN_ONE * at_low / scale, _ALL_IN_ONE * at_high / scale
    weight = any_number + none + everything
    expected = (any_number * middle + everything * most) / np.maximum(weight, _LEAST)
    return np.asarray(np.clip(np.rint(np.where(weight > _LEAST, expected, np.clip(estimate, 0, most))), 0, most))
