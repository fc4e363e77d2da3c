"""Frequency matrices of any dimension, and their release with noise."""

from flowveil.matrices._build import DEFAULT_CELLS, build_matrix, build_tile_matrix
from flowveil.matrices._methods import MOSAIC, adds_noise
from flowveil.matrices._points import Grid, Matrix, Points
from flowveil.matrices._release import NoisyRelease, add_noise

__all__ = [
    "DEFAULT_CELLS",
    "MOSAIC",
    "Grid",
    "Matrix",
    "NoisyRelease",
    "Points",
    "add_noise",
    "adds_noise",
    "build_matrix",
    "build_tile_matrix",
]
