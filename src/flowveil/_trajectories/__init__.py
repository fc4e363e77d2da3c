"""Whole trajectories in which every user's path is identical to at least k-1 others'."""

from flowveil._trajectories.anonymization import anonymize, frontier
from flowveil._trajectories.baseline_options import BASELINES, parse_baseline, parse_baseline_options
from flowveil._trajectories.baselines import Baseline, baseline
from flowveil._trajectories.data_features import Features, features
from flowveil._trajectories.evaluation import TrajectoryEvaluation, evaluate
from flowveil._trajectories.figures import EvaluationFigures
from flowveil._trajectories.frontiers import DEFAULT_POINTS, TrajectoryFrontier, parse_path_points
from flowveil._trajectories.gaps import Gap, gap, parse_ks
from flowveil._trajectories.glove import VARIANTS
from flowveil._trajectories.grid import DEFAULT_CAPS, DEFAULT_WEIGHTS, Grid, make_grid
from flowveil._trajectories.options import (
    GATHER,
    GLOVE,
    METHODS,
    parse_blocks,
    parse_frontier,
    parse_grouping,
    parse_known_points,
)
from flowveil._trajectories.periods import PERIODS, first_days, parse_periods
from flowveil._trajectories.read import (
    Trajectories,
    as_trajectories,
    parse_min_samples,
    read_again,
    read_trajectories,
    read_whoever,
)
from flowveil._trajectories.release import TrajectoryRelease, read_release
from flowveil._trajectories.steering import parse_price

__all__ = [
    "BASELINES",
    "DEFAULT_CAPS",
    "DEFAULT_POINTS",
    "DEFAULT_WEIGHTS",
    "GATHER",
    "GLOVE",
    "METHODS",
    "PERIODS",
    "VARIANTS",
    "Baseline",
    "EvaluationFigures",
    "Features",
    "Gap",
    "Grid",
    "Trajectories",
    "TrajectoryEvaluation",
    "TrajectoryFrontier",
    "TrajectoryRelease",
    "anonymize",
    "as_trajectories",
    "baseline",
    "evaluate",
    "features",
    "first_days",
    "frontier",
    "gap",
    "make_grid",
    "parse_baseline",
    "parse_baseline_options",
    "parse_blocks",
    "parse_frontier",
    "parse_grouping",
    "parse_known_points",
    "parse_ks",
    "parse_min_samples",
    "parse_path_points",
    "parse_periods",
    "parse_price",
    "read_again",
    "read_release",
    "read_trajectories",
    "read_whoever",
]
