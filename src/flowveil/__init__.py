"""Publish mobility data safely: flows in which every traveler hides in a crowd.

Examples call this package `fv`, and read files of the synthetic city:

    import flowveil as fv

    fv.synthetic.write_city("trips.parquet", trips=2_000, persons=100)

`zones.parquet` are its zones, `samples.parquet` are `fv.synthetic.phones(20)`, and `release`, `noisy` and `paths` are
folders that `fv.anonymize`, `fv.add_noise` and `fv.trajectories.anonymize` made of these.
"""

import os as _os
import sys as _sys
import typing as _typing
from importlib import import_module as _import_module

if "numba" not in _sys.modules:  # it would let a file of the current folder say where compiled code is loaded from
    _os.environ.setdefault("NUMBA_CACHE_DIR", "")
    _os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "")

if _typing.TYPE_CHECKING:
    from flowveil import synthetic, trajectories
    from flowveil._describe import Description, describe
    from flowveil._errors import (
        DroppedRowsWarning,
        FlowveilError,
        FlowveilWarning,
        ImplausiblePlacesWarning,
        InputError,
        LossWarning,
        PromiseError,
        UnknownNameError,
        VerificationError,
    )
    from flowveil._export import Export
    from flowveil._fixes import MadeTrips, make_trips
    from flowveil._flows import Flows, build_flows
    from flowveil._kinds import evaluate, export, query, read_release, reconstruct, report, sample, verify
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
    from flowveil._reading import Answers, Reconstruction
    from flowveil._register import Register, register
    from flowveil._release import Frontier, Release, anonymize, frontier
    from flowveil._risk import Finding, Risk, risk
    from flowveil._study import Comparison, Study, compare, reproduce, study
    from flowveil._trips import Layout, Trips, layouts, read_trips
    from flowveil._verify import Verification

    __version__: str
else:
    # A name comes from its room when it is first used: what rooms build on takes a second to import.
    _NAMES = {
        "_describe": ["Description", "describe"],
        "_errors": [
            "DroppedRowsWarning",
            "FlowveilError",
            "FlowveilWarning",
            "ImplausiblePlacesWarning",
            "InputError",
            "LossWarning",
            "PromiseError",
            "UnknownNameError",
            "VerificationError",
        ],
        "_export": ["Export"],
        "_fixes": ["MadeTrips", "make_trips"],
        "_flows": ["Flows", "build_flows"],
        "_kinds": ["evaluate", "export", "query", "read_release", "reconstruct", "report", "sample", "verify"],
        "_matrices": [
            "Matrix",
            "NoisyRelease",
            "add_noise",
            "advise",
            "build_frame_matrix",
            "build_matrix",
            "build_tile_matrix",
            "query_errors",
        ],
        "_methods": ["Method", "methods"],
        "_reading": ["Answers", "Reconstruction"],
        "_register": ["Register", "register"],
        "_release": ["Frontier", "Release", "anonymize", "frontier"],
        "_risk": ["Finding", "Risk", "risk"],
        "_study": ["Comparison", "Study", "compare", "reproduce", "study"],
        "_trips": ["Layout", "Trips", "layouts", "read_trips"],
        "_verify": ["Verification"],
    }
    _ROOMS = {name: f"flowveil.{room}" for room, names in _NAMES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name == "__version__":
            value = _import_module("importlib.metadata").version("flowveil")
        elif name in _ROOMS:
            value = getattr(_import_module(_ROOMS[name]), name)
        elif name in __all__:
            value = _import_module(f"flowveil.{name}")
        else:
            raise AttributeError(f"module 'flowveil' has no attribute {name!r}", name=name, obj=_sys.modules[__name__])
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})


__all__ = [
    "Answers",
    "Comparison",
    "Description",
    "DroppedRowsWarning",
    "Export",
    "Finding",
    "Flows",
    "FlowveilError",
    "FlowveilWarning",
    "Frontier",
    "ImplausiblePlacesWarning",
    "InputError",
    "Layout",
    "LossWarning",
    "MadeTrips",
    "Matrix",
    "Method",
    "NoisyRelease",
    "PromiseError",
    "Reconstruction",
    "Register",
    "Release",
    "Risk",
    "Study",
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
    "describe",
    "evaluate",
    "export",
    "frontier",
    "layouts",
    "make_trips",
    "methods",
    "query",
    "query_errors",
    "read_release",
    "read_trips",
    "reconstruct",
    "register",
    "report",
    "reproduce",
    "risk",
    "sample",
    "study",
    "synthetic",
    "trajectories",
    "verify",
]
