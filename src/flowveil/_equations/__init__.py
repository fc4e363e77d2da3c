"""What follows for certain from sums of hidden numbers: equations over whole numbers, solved block by block."""

from flowveil._equations.bounds import Bounds
from flowveil._equations.certain import Told, find_told
from flowveil._equations.equations import Block, Figures, contradiction, list_figures, reduce_equations

__all__ = ["Block", "Bounds", "Figures", "Told", "contradiction", "find_told", "list_figures", "reduce_equations"]
