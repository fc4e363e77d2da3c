"""Work on several cores: threads for what releases Python's lock, processes of our own for the rest."""

from flowveil._processes.core_count import at_once, cores, one_core, work_ahead
from flowveil._processes.packing import Message, pack, unpack
from flowveil._processes.spread import Spread, over_cores
from flowveil._processes.used_memory import memory_in_use, peak_memory
from flowveil._processes.worker import Worker

__all__ = [
    "Message",
    "Spread",
    "Worker",
    "at_once",
    "cores",
    "memory_in_use",
    "one_core",
    "over_cores",
    "pack",
    "peak_memory",
    "unpack",
    "work_ahead",
]
