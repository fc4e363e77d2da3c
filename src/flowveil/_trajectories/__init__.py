"""Whole trajectories in which every user's path is identical to at least k-1 others'."""

from flowveil._trajectories.anonymization import anonymize, parse_grouping
from flowveil._trajectories.baselines import BASELINES, Baseline, baseline, parse_baseline
from flowveil._trajectories.evaluation import TrajectoryEvaluation, evaluate
from flowveil._trajectories.figures import EvaluationFigures
from flowveil._trajectories.gaps import Gap, gap, parse_ks
from flowveil._trajectories.glove import VARIANTS
from flowveil._trajectories.grid import DEFAULT_CAPS, DEFAULT_WEIGHTS, Grid, make_grid
from flowveil._trajectories.periods import PERIODS, first_days, parse_periods
from flowveil._trajectories.read import Trajectories, parse_min_samples, read_trajectories
from flowveil._trajectories.release import TrajectoryRelease, read_release

__all__ = [
    "BASELINES",
    "DEFAULT_CAPS",
    "DEFAULT_WEIGHTS",
    "PERIODS",
    "VARIANTS",
    "Baseline",
    "EvaluationFigures",
    "Gap",
    "Grid",
    "Trajectories",
    "TrajectoryEvaluation",
    "TrajectoryRelease",
    "anonymize",
    "baseline",
    "evaluate",
    "first_days",
    "gap",
    "make_grid",
    "parse_baseline",
    "parse_grouping",
    "parse_ks",
    "parse_min_samples",
    "parse_periods",
    "read_release",
    "read_trajectories",
]
