"""Work on several cores: threads for what releases Python's lock, processes of our own for the rest."""

from flowveil._processes.command import python_command
from flowveil._processes.core_count import at_once, cores, one_core, work_ahead
from flowveil._processes.packing import pack, unpack
from flowveil._processes.spread import Spread, over_cores

__all__ = ["Spread", "at_once", "cores", "one_core", "over_cores", "pack", "python_command", "unpack", "work_ahead"]
