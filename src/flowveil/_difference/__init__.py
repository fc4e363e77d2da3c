"""What two sets of flows over the same trips give away together, though each is safe by itself."""

from flowveil._difference.atoms import Atoms, make_atoms
from flowveil._difference.exposed import find_exposed, withhold_exposing

__all__ = ["Atoms", "find_exposed", "make_atoms", "withhold_exposing"]
