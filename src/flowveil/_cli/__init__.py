"""The command line: the same functions as the Python API, one file a command."""

from flowveil._cli.entry import main

__all__ = ["main"]
