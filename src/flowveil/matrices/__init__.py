"""Frequency matrices of any dimension, and their release with noise."""

from flowveil.matrices._advise import WARNING as ADVICE_WARNING
from flowveil.matrices._advise import advise
from flowveil.matrices._build import DEFAULT_CELLS, build_matrix, build_tile_matrix, matrix_of_flows
from flowveil.matrices._frames import build_frame_matrix
from flowveil.matrices._measure import query_errors
from flowveil.matrices._methods import LAPLACE, MOSAIC, TILE_METHODS, adds_noise
from flowveil.matrices._points import Grid, Matrix, Points
from flowveil.matrices._query import Answer, query
from flowveil.matrices._read import check_sums, is_noisy
from flowveil.matrices._release import NoisyRelease, add_noise
from flowveil.matrices._verify import verify_noisy

__all__ = [
    "ADVICE_WARNING",
    "DEFAULT_CELLS",
    "LAPLACE",
    "MOSAIC",
    "TILE_METHODS",
    "Answer",
    "Grid",
    "Matrix",
    "NoisyRelease",
    "Points",
    "add_noise",
    "adds_noise",
    "advise",
    "build_frame_matrix",
    "build_matrix",
    "build_tile_matrix",
    "check_sums",
    "is_noisy",
    "matrix_of_flows",
    "query",
    "query_errors",
    "verify_noisy",
]
