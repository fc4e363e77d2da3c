"""OpenDP's mechanisms, each confirmed by OpenDP's own privacy map before it is run."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from flowveil._errors import InputError, PromiseError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from opendp.mod import Measurement

    from flowveil._arrays import IntArray

_STEPS = 4  # a scale of 1/epsilon may need this many steps up until OpenDP, which rounds its maps up, confirms epsilon


def add_laplace(values: IntArray, epsilon: float) -> IntArray:
    """Return `values` with discrete Laplace noise for one trip at `epsilon`.

    The values are counts of disjoint sets of trips: one trip changes one of them by one.
    """
    return np.asarray(_laplace(epsilon)[0](values.tolist()), np.int64)


def laplace_scale(epsilon: float) -> float:
    """Return the scale of that noise: 1 / epsilon but for rounding."""
    return _laplace(epsilon)[1]


def least(scores: IntArray, sensitivity: int, epsilon: float) -> int:
    """Return the position of a score that is likely the least; one trip changes each score by at most `sensitivity`.

    The scale is twice the sensitivity over epsilon: a trip may raise some scores and lower others.
    """
    return int(_noisy_min(sensitivity, epsilon)(scores.tolist()))


@cache
def _opendp() -> ModuleType:
    """Import OpenDP when it is needed: that takes half a second."""
    try:
        import opendp.prelude as dp  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError("differential privacy needs OpenDP", "pip install 'flowveil[dp]'") from None
    dp.enable_features("contrib")
    return dp


@cache
def _laplace(epsilon: float) -> tuple[Measurement, float]:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    scale = 1 / epsilon
    for _ in range(_STEPS):
        mechanism = space >> dp.m.then_laplace(scale=scale)
        if confirmed(mechanism, 1, epsilon):
            return mechanism, scale
        scale = math.nextafter(scale, math.inf)
    raise _unconfirmed("counts", epsilon)


@cache
def _noisy_min(sensitivity: int, epsilon: float) -> Measurement:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    scale = noisy_min_scale(sensitivity, epsilon)
    for _ in range(_STEPS):
        mechanism = space >> dp.m.then_noisy_max(dp.max_divergence(), scale=scale, negate=True)
        if confirmed(mechanism, sensitivity, epsilon):
            return cast("Measurement", mechanism)
        scale = math.nextafter(scale, math.inf)
    raise _unconfirmed("a choice", epsilon)


def noisy_min_scale(sensitivity: int, epsilon: float) -> float:
    """Return the scale for scores that are not monotone."""
    return 2 * sensitivity / epsilon


def confirmed(mechanism: Measurement, distance: int, epsilon: float) -> bool:
    """Whether OpenDP says that the mechanism costs at most `epsilon` at this distance of inputs."""
    loss = cast("Callable[[int], float]", mechanism.map)  # OpenDP leaves it untyped
    return loss(distance) <= epsilon


def _unconfirmed(what: str, epsilon: float) -> PromiseError:
    return PromiseError(
        f"OpenDP does not confirm that {what} cost an epsilon of {epsilon:g}",
        "nothing was drawn; please report this bug",
    )
