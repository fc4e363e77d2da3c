"""Whole trajectories in which every user's path is identical to at least k-1 others'."""

from flowveil.trajectories._anonymize import anonymize
from flowveil.trajectories._baselines import BASELINES, Baseline, baseline
from flowveil.trajectories._evaluate import TrajectoryEvaluation, evaluate
from flowveil.trajectories._gap import Gap, gap
from flowveil.trajectories._glove import VARIANTS
from flowveil.trajectories._grid import Grid, make_grid
from flowveil.trajectories._read import Trajectories, read_trajectories
from flowveil.trajectories._release import TrajectoryRelease, read_release
from flowveil.trajectories._verify import TrajectoryVerification, verify

__all__ = [
    "BASELINES",
    "VARIANTS",
    "Baseline",
    "Gap",
    "Grid",
    "Trajectories",
    "TrajectoryEvaluation",
    "TrajectoryRelease",
    "TrajectoryVerification",
    "anonymize",
    "baseline",
    "evaluate",
    "gap",
    "make_grid",
    "read_release",
    "read_trajectories",
    "verify",
]
