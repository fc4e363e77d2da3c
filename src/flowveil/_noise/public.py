"""Draws that use no data: where candidate cuts lie. They are no noise and protect nobody."""

from __future__ import annotations

import numpy as np


def public_random() -> np.random.Generator:
    """Return a source of random numbers for choices made without looking at the data.

    Anyone may know or guess these draws: the promise does not rest on them. What protects people is drawn by OpenDP.
    """
    return np.random.default_rng()
