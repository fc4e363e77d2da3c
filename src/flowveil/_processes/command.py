"""How flowveil starts Python."""

from __future__ import annotations

import sys


def python_command(module: str) -> list[str]:
    """Return the command that runs a module of flowveil; a shapely.py in the current folder is not part of it."""
    return [sys.executable, "-P", "-m", module]
