"""Independent random streams, one for each part of the city and each block of trips."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a stream of random numbers is for; the values are part of what a seed means."""

    LANDSCAPE = 0
    PERSONS = 1
    ZONES = 2
    TRIPS = 3
    CATEGORIES = 4


def open_stream(seed: int, stream: Stream, block: int = 0) -> np.random.Generator:
    """Return the generator of one block of one stream, the same in whatever order blocks are asked for."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(stream), block)))
