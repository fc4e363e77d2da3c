"""Remainders as a reader spreads them: over what finer flows leave of their areas."""

from flowveil._remainders.layers import Evening, even, evened, find_above, find_layers

__all__ = ["Evening", "even", "evened", "find_above", "find_layers"]
