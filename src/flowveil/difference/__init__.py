"""What two sets of flows over the same trips give away together, though each is safe by itself."""

from flowveil.difference._atoms import Atoms, make_atoms
from flowveil.difference._exposed import find_exposed, withhold_exposing

__all__ = ["Atoms", "find_exposed", "make_atoms", "withhold_exposing"]
