"""Noise on counts that are almost all zero: only the noisy zeros that come out positive are drawn, exactly.

A zero with discrete Laplace noise of scale s is positive with probability p = 1 / (1 + exp(1 / s)). How many of n zeros
are is binomial; which ones, uniform; and each one's value is 1 more than noise that is not negative. Random bits come
from the operating system, other noise from OpenDP: nothing is rounded, and nothing can be foretold.
"""

from __future__ import annotations

import os
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from flowveil._noise import draws

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flowveil._arrays import IntArray

_DIGITS = 120  # of the probability: far more than will ever be compared
_BITS = 320  # that these digits determine
_BLOCK = 1 << 24  # bytes of random bits at once


def positive_share(scale: float) -> float:
    """Return the probability that noise of this scale is positive, for planning."""
    decay = np.exp(-1 / scale)
    return float(decay / (1 + decay))


def count_positive(zeros: int, scale: float) -> int:
    """Draw how many of some zeros are positive with noise of this scale.

    Each zero stands for one uniform number, written in bits, that is compared with the probability: where the bits are
    the same the next one decides. How many numbers have a bit set is the number of ones in as many random bits.
    """
    successes = 0
    for bit in _probability_bits(scale):
        if not zeros:
            return successes
        ones = _ones(zeros)
        if bit:
            successes += zeros - ones  # below the probability; the others are level with it
            zeros = ones
        else:
            zeros -= ones  # above it; the others are level with it
    raise AssertionError("random bits ran level with a probability for too long")  # in 2 ** -200 of all runs


def draw_positive(count: int, epsilon: float) -> IntArray:
    """Draw noise of which it is known that it is positive."""
    drawn = [np.zeros(0, np.int64)]
    while (missing := count - sum(map(len, drawn))) > 0:
        noise = draws.add_laplace(np.zeros(2 * missing, np.int64), epsilon)
        drawn.append(noise[noise >= 0][:missing] + 1)
    return np.concatenate(drawn)


def draw_places(count: int, among: int, taken: IntArray) -> IntArray:
    """Draw distinct numbers from 0 to `among` - 1 that are not in `taken` (ascending), uniformly; ascending."""
    width = max(among - 1, 1).bit_length()
    chosen = np.zeros(0, np.int64)
    while len(chosen) < count:
        drawn = np.frombuffer(os.urandom(8 * (2 * (count - len(chosen)) + 64)), np.uint64) >> np.uint64(64 - width)
        drawn = drawn.astype(np.int64)
        place = np.minimum(np.searchsorted(taken, drawn), max(len(taken) - 1, 0))
        free = (drawn < among) & (taken[place] != drawn if len(taken) else True)
        both = np.concatenate([chosen, drawn[free]])
        _, first = np.unique(both, return_index=True)
        chosen = both[np.sort(first)][:count]  # in the order of drawing: who came first stays
    return np.sort(chosen)


def _probability_bits(scale: float) -> Iterator[bool]:
    """Yield the bits of 1 / (1 + exp(1 / scale)) behind the point; decimal arithmetic rounds the last digit only."""
    exact = 1 / Fraction(scale)
    share = Fraction(0)  # of a larger power all these bits are 0
    if exact < _BITS:
        with localcontext() as context:
            context.prec = _DIGITS
            power = (Decimal(exact.numerator) / Decimal(exact.denominator)).exp()
            share = Fraction(1 / (1 + power))
    for _ in range(_BITS):
        share *= 2
        yield share >= 1
        share -= share >= 1


def _ones(bits: int) -> int:
    """Draw how many of so many random bits are set."""
    total = 0
    while bits > 0:
        block = np.frombuffer(os.urandom(min(_BLOCK, (bits + 7) // 8)), np.uint8)
        total += int(np.bitwise_count(block).sum(dtype=np.int64))
        if 8 * len(block) > bits:  # the last byte has bits too many
            total -= int(np.bitwise_count(block[-1] >> np.uint8(bits - 8 * (len(block) - 1))))
        bits -= 8 * len(block)
    return total
