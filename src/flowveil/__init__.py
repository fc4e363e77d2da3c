"""Publish mobility data safely: flows in which every traveler hides in a crowd."""

import os
import sys

if "numba" not in sys.modules:  # it would let a file of the current folder say where compiled code is loaded from
    os.environ.setdefault("NUMBA_CACHE_DIR", "")
    os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "")

from flowveil._compare import compare
from flowveil._errors import FlowveilError, InputError, PromiseError, UnknownNameError, VerificationError
from flowveil._export import Export
from flowveil._flows import Flows, build_flows
from flowveil._kinds import evaluate, export, query, read_release, reconstruct, report, verify
from flowveil._matrices import (
    Matrix,
    NoisyRelease,
    add_noise,
    advise,
    build_frame_matrix,
    build_matrix,
    build_tile_matrix,
    query_errors,
)
from flowveil._methods import Method, methods
from flowveil._reconstruct import Reconstruction
from flowveil._release import Frontier, Release, anonymize, frontier
from flowveil._trips import Trips, read_trips
from flowveil._verify import Verification

__all__ = [
    "Export",
    "Flows",
    "FlowveilError",
    "Frontier",
    "InputError",
    "Matrix",
    "Method",
    "NoisyRelease",
    "PromiseError",
    "Reconstruction",
    "Release",
    "Trips",
    "UnknownNameError",
    "Verification",
    "VerificationError",
    "add_noise",
    "advise",
    "anonymize",
    "build_flows",
    "build_frame_matrix",
    "build_matrix",
    "build_tile_matrix",
    "compare",
    "evaluate",
    "export",
    "frontier",
    "methods",
    "query",
    "query_errors",
    "read_release",
    "read_trips",
    "reconstruct",
    "report",
    "verify",
]
