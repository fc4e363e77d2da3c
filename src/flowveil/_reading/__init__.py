"""What a reader does with a release: questions about zones of their own, frames, synthetic trips."""

from flowveil._reading.clumps import clumping, unevenness
from flowveil._reading.marginals import Marginal, read_marginals, read_zone_weights, share_inside
from flowveil._reading.questions import Answers
from flowveil._reading.readable import Readable
from flowveil._reading.reconstruction import SPREADS, Reconstruction, reconstruct_flows
from flowveil._reading.sampling import sample_trips

__all__ = [
    "SPREADS",
    "Answers",
    "Marginal",
    "Readable",
    "Reconstruction",
    "clumping",
    "read_marginals",
    "read_zone_weights",
    "reconstruct_flows",
    "sample_trips",
    "share_inside",
    "unevenness",
]
