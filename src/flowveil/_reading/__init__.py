"""What a reader does with a release: questions about zones of their own, frames, synthetic trips."""

from flowveil._reading.questions import Answers
from flowveil._reading.readable import Readable
from flowveil._reading.reconstruction import SPREADS, Reconstruction, reconstruct_flows

__all__ = ["SPREADS", "Answers", "Readable", "Reconstruction", "reconstruct_flows"]
