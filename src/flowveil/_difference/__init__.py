"""What sets of flows over the same trips give away together, though each is safe by itself."""

from flowveil._difference.atoms import Atoms, make_atoms
from flowveil._difference.exposed import find_exposed, withhold_exposing
from flowveil._difference.implied import find_implied
from flowveil._difference.jointly import Leak, find_leaks

__all__ = ["Atoms", "Leak", "find_exposed", "find_implied", "find_leaks", "make_atoms", "withhold_exposing"]
