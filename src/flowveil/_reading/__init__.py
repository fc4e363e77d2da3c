"""What a reader does with a release: flows between areas of the reader's own."""

from flowveil._reading.reconstruction import Reconstruction, reconstruct_flows

__all__ = ["Reconstruction", "reconstruct_flows"]
