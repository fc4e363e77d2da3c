"""The command line: the same functions as the Python API, one file a command."""

from flowveil._cli.commands import main

__all__ = ["main"]
