"""The command line: the same functions as the Python API, one file a command."""

from flowveil.cli._main import main

__all__ = ["main"]
