"""What was understood of an input, and its private figures."""

from flowveil._describe.description import Description, describe

__all__ = ["Description", "describe"]
