"""Whole trajectories in which every user's path is identical to at least k-1 others'."""

from flowveil._trajectories import (
    BASELINES,
    METHODS,
    VARIANTS,
    Baseline,
    Gap,
    Grid,
    Trajectories,
    TrajectoryEvaluation,
    TrajectoryFrontier,
    TrajectoryRelease,
    anonymize,
    baseline,
    evaluate,
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
    "Gap",
    "Grid",
    "Trajectories",
    "TrajectoryEvaluation",
    "TrajectoryFrontier",
    "TrajectoryRelease",
    "TrajectoryVerification",
    "anonymize",
    "baseline",
    "evaluate",
    "frontier",
    "gap",
    "make_grid",
    "read_release",
    "read_trajectories",
    "verify",
]
