"""What noisy counts tell: totals kept, nothing negative, tables fitted to several of them. Post-processing only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

_ROUNDS = 30
_TINY = 1e-12


def lower(counts: FloatArray, total: float) -> FloatArray:
    """Return the nearest counts that are not negative and have this total: all are lowered by the same amount."""
    flat = counts.ravel()
    if total <= 0:
        return np.zeros_like(counts)
    falling = np.sort(flat)[::-1]
    by = (np.cumsum(falling) - total) / np.arange(1, len(flat) + 1)
    kept = int(np.flatnonzero(falling > by)[-1])
    return np.asarray(np.maximum(counts - by[kept], 0))


def smooth(counts: FloatArray, noise: float) -> FloatArray:
    """Return counts in a line without what noise alone explains: differences of neighbors and of longer stretches.

    Haar's wavelets: each difference of two halves, over the root of their length, has the same noise. Small ones are
    taken as none, so that a peak stays one, and what is even stays even.
    """
    many = len(counts)
    width = 1 << max(many - 1, 0).bit_length()
    level = np.zeros(width)
    level[:many] = counts
    least = noise * np.sqrt(2) * np.sqrt(2 * np.log(max(many, 2)))
    differences = []
    while len(level) > 1:
        even, odd = level[::2], level[1::2]
        apart = (even - odd) / np.sqrt(2)
        differences.append(np.where(np.abs(apart) > least, apart, 0))
        level = (even + odd) / np.sqrt(2)
    for apart in reversed(differences):
        level = np.column_stack([level + apart, level - apart]).ravel() / np.sqrt(2)
    return level[:many]


def shares(counts: FloatArray, noise: float = 0.0) -> FloatArray:
    """Return rows that add up to one; a row with few counts beside noise leans toward the shares of all rows."""
    whole = counts.sum(axis=0)
    whole = np.ones(counts.shape[1]) if whole.sum() <= 0 else whole
    lean = max(noise, _TINY)
    filled: FloatArray = (counts + lean * whole / whole.sum()) / (counts.sum(axis=1, keepdims=True) + lean)
    return filled


def fit(
    rows: FloatArray, columns: FloatArray, classes: IntArray, totals: FloatArray, *, apart: bool = False
) -> FloatArray:
    """Return the table that is nearest to rows times columns and has these sums of rows, columns and classes of pairs.

    Iterative proportional fitting. apart: a row and its own column never go together.
    """
    rows, columns, totals = (part / max(part.sum(), _TINY) for part in (rows, columns, totals))
    table = rows[:, None] * columns[None, :]
    if apart:
        np.fill_diagonal(table, 0)
    if totals.sum() <= 0:
        return table
    for _ in range(_ROUNDS):
        held = np.bincount(classes.ravel(), table.ravel(), minlength=len(totals))
        table *= np.where(held > _TINY, totals / np.maximum(held, _TINY), 0)[classes]
        table *= (columns / np.maximum(table.sum(axis=0), _TINY))[None, :]
        table *= (rows / np.maximum(table.sum(axis=1), _TINY))[:, None]
    return table


def follow(table: FloatArray, block: IntArray, seen: FloatArray, noise: float) -> FloatArray:
    """Return a table moved toward noisy counts of pairs of blocks, as far as they differ by more than noise."""
    many = len(seen)
    total = float(np.clip(seen.sum(), 0, None))
    pairs = block[:, None] * many + block[None, :]
    expected = np.bincount(pairs.ravel(), table.ravel(), minlength=many * many).reshape(many, many)
    if total <= 0 or expected.sum() <= 0:
        return table
    expected *= total / expected.sum()
    differ = float(((seen - expected) ** 2).mean())
    trust = max(0.0, 1 - 2 * noise**2 / max(differ, _TINY))
    wanted = lower(expected + trust * (seen - expected), total)
    ratio = np.where(expected > _TINY, wanted / np.maximum(expected, _TINY), 0)
    moved: FloatArray = table * ratio.ravel()[pairs]
    return moved
