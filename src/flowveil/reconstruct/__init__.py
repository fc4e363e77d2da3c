"""What a reader does with a release: flows between areas of the reader's own."""

from flowveil.reconstruct._reconstruct import Reconstruction, reconstruct

__all__ = ["Reconstruction", "reconstruct"]
