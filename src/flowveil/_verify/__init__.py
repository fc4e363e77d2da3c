"""The independent checker: it shares no code with what makes releases but the reading of their input."""

from flowveil._verify.flows import verify_flows
from flowveil._verify.noise import verify_noisy
from flowveil._verify.results import TrajectoryVerification, Verification
from flowveil._verify.synthetic import verify_synthetic
from flowveil._verify.trajectories import verify_trajectories

__all__ = [
    "TrajectoryVerification",
    "Verification",
    "verify_flows",
    "verify_noisy",
    "verify_synthetic",
    "verify_trajectories",
]
