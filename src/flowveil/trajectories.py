"""Whole trajectories in which every user's path is identical to at least k-1 others'."""

from flowveil._synthesis import SyntheticRelease, synthesize
from flowveil._trajectories import (
    BASELINES,
    METHODS,
    VARIANTS,
    Baseline,
    Features,
    Gap,
    Grid,
    Trajectories,
    TrajectoryEvaluation,
    TrajectoryFrontier,
    TrajectoryRelease,
    anonymize,
    baseline,
    evaluate,
    features,
    frontier,
    gap,
    make_grid,
    read_release,
    read_trajectories,
)
from flowveil._verify import TrajectoryVerification
from flowveil._verify import verify_trajectories as verify

__all__ = [
    "BASELINES",
    "METHODS",
    "VARIANTS",
    "Baseline",
    "Features",
    "Gap",
    "Grid",
    "SyntheticRelease",
    "Trajectories",
    "TrajectoryEvaluation",
    "TrajectoryFrontier",
    "TrajectoryRelease",
    "TrajectoryVerification",
    "anonymize",
    "baseline",
    "evaluate",
    "features",
    "frontier",
    "gap",
    "make_grid",
    "read_release",
    "read_trajectories",
    "synthesize",
    "verify",
]
