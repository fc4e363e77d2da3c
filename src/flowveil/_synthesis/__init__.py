"""Synthetic trajectories: a private model of how users move, and paths drawn from it."""

from flowveil._synthesis.clock import parse_days
from flowveil._synthesis.evaluation import evaluate_synthetic
from flowveil._synthesis.release import SyntheticRelease, read_synthetic
from flowveil._synthesis.synthesis import parse_drawn, parse_seed, synthesize

__all__ = [
    "SyntheticRelease",
    "evaluate_synthetic",
    "parse_days",
    "parse_drawn",
    "parse_seed",
    "read_synthetic",
    "synthesize",
]
