"""Distributions as a few numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray

Quantiles: TypeAlias = dict[str, float | None]  # mean, p10, p25, median, p75, p90
Unicity: TypeAlias = dict[str, dict[str, dict[str, float]]]  # by known points: before and after, shares of users


class Distortion(TypedDict):
    """Distortion as in the papers on Never Walk Alone and Wait for Me."""

    translation: float  # meters, all kept samples together
    omega: float  # meters: the largest translation
    information: float  # meters: translation of kept samples, Omega for others
    information_mean: float  # meters a sample
    discernibility: int


class BaselineFigures(TypedDict):
    """What an older method did to samples."""

    method: str
    k: int
    users: int
    discarded_users: int
    samples: int
    created: int
    deleted: int
    position_error: Quantiles  # meters
    time_error: Quantiles  # minutes
    distortion: Distortion
    units: dict[str, str]


class Frequency(TypedDict):
    """Accuracy of users with so many samples an hour."""

    users: int
    extent: Quantiles  # meters
    duration: Quantiles  # minutes


PartFigures = Frequency  # the same, of a part of the data


class FeatureFigures(TypedDict):
    """Accuracy of parts of the data."""

    k: int
    span: dict[str, PartFigures]
    coverage: dict[str, PartFigures]
    cardinality: dict[str, PartFigures]
    units: dict[str, str]


class GapFigures(TypedDict):
    """Distributions of k-gaps and of their parts over users."""

    users: int
    gap: dict[str, Quantiles]  # by k
    space_part: Quantiles
    time_part: Quantiles
    tail_weight: dict[str, Quantiles]
    heavy_tails: dict[str, float | None]
    time_to_space: Quantiles
    time_share: Quantiles
    generalized: dict[str, Quantiles]
    units: dict[str, str]


class Counts(TypedDict):
    """How many users, groups and rows a release has."""

    users: int
    released_users: int
    groups: int
    largest_group: int
    rows: int
    suppressed: float
    unsupported: float


class EvaluationFigures(Counts):
    """What a release of trajectories lost."""

    extent: Quantiles  # meters
    duration: Quantiles  # minutes
    position_error: Quantiles  # meters
    time_error: Quantiles  # minutes
    distortion: Distortion
    finer: dict[str, Quantiles]  # by threshold
    tasks: dict[str, Quantiles]
    unicity: Unicity
    frequency: dict[str, Frequency]  # by samples an hour
    correlations: dict[str, float | None]  # of properties with the stretch to others of the group
    units: dict[str, str]


# By key of the figures: what its numbers are counted in. Shares, ratios and correlations have no unit.
EVALUATION_UNITS = {
    "extent": "m",
    "duration": "min",
    "position_error": "m",
    "time_error": "min",
    "distortion.translation": "m",
    "distortion.omega": "m",
    "distortion.information": "m",
    "distortion.information_mean": "m a sample",
    "suppressed": "share of rows",
    "unsupported": "share of members and samples",
    "finer": "share of samples",
    "tasks.center": "m",
    "tasks.home": "m",
    "tasks.work": "m",
    "tasks.travel": "released / original",
    "tasks.gyration": "released / original",
    "tasks.hull": "released / original",
    "unicity": "share of users",
    "correlations": "Pearson",
}
GAP_UNITS = {
    "gap": "stretch, 0 to 1",
    "space_part": "stretch",
    "time_part": "stretch",
    "tail_weight": "index",
    "heavy_tails": "share of users",
    "time_to_space": "ratio",
    "time_share": "share of the stretch",
    "generalized": "stretch, 0 to 1",
}
FEATURE_UNITS = {"extent": "m", "duration": "min"}
BASELINE_UNITS = {name: unit for name, unit in EVALUATION_UNITS.items() if "error" in name or "distortion" in name}
_QUANTILES = {"p10": 0.1, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9}


def quantiles(values: FloatArray) -> Quantiles:
    """Return mean and quantiles of the values that are numbers; nulls if there are none."""
    known = values[np.isfinite(values)]
    if not len(known):
        return dict.fromkeys(["mean", *_QUANTILES])
    figures: dict[str, float | None] = {"mean": float(known.mean())}
    figures.update(zip(_QUANTILES, np.quantile(known, list(_QUANTILES.values())).tolist(), strict=True))
    return figures
