"""Chance that can be drawn again by whoever has the secret, and by nobody else."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import KeyArray

_WORD = 8  # bytes


def draw_words(secret: bytes, label: str, count: int) -> KeyArray:
    """Return so many whole numbers below 2**64, which depend on the secret and a label; more begin like fewer.

    The secret is hashed with SHAKE-256: without it, numbers cannot be told from chance.
    """
    stream = hashlib.shake_256(len(secret).to_bytes(_WORD, "big") + secret + label.encode())
    return np.frombuffer(stream.digest(_WORD * count), ">u8").astype(np.uint64)
