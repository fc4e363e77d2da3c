"""Frequency matrices of any dimension, and their release with noise."""

from flowveil._matrices.advice import WARNING as ADVICE_WARNING
from flowveil._matrices.advice import advise, parse_trips
from flowveil._matrices.answers import Answer, query_noisy
from flowveil._matrices.build import DEFAULT_CELLS, build_matrix, build_tile_matrix, matrix_of_flows
from flowveil._matrices.counting import CountingOptions, choose_noise, count_for_noise
from flowveil._matrices.frames import build_frame_matrix
from flowveil._matrices.measure import query_errors
from flowveil._matrices.methods import LAPLACE
from flowveil._matrices.points import CellGrid, Matrix, Points
from flowveil._matrices.read import read_noisy
from flowveil._matrices.release import NoisyRelease, add_noise
from flowveil._matrices.workloads import answer_boxes, make_workload, mre

__all__ = [
    "ADVICE_WARNING",
    "DEFAULT_CELLS",
    "LAPLACE",
    "Answer",
    "CellGrid",
    "CountingOptions",
    "Matrix",
    "NoisyRelease",
    "Points",
    "add_noise",
    "advise",
    "answer_boxes",
    "build_frame_matrix",
    "build_matrix",
    "build_tile_matrix",
    "choose_noise",
    "count_for_noise",
    "make_workload",
    "matrix_of_flows",
    "mre",
    "parse_trips",
    "query_errors",
    "query_noisy",
    "read_noisy",
]
