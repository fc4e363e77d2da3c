"""Building and loading the library that lets calls go wrong."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")


def can_build() -> bool:
    """Whether this machine loads such a library and has what builds it."""
    return sys.platform == "linux" and shutil.which("cc") is not None


def build(folder: Path) -> Path:
    """Return the library, built into a folder."""
    library = folder / "shim.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def loaded() -> ctypes.CDLL | None:
    """Return the library if it was loaded into this process before all others."""
    library = ctypes.CDLL(None)
    return library if hasattr(library, "faults_arm") else None


def load_and_start_again() -> None:
    """Start this program again with the library loaded."""
    folder = Path(tempfile.mkdtemp(prefix="flowveil-faults-"))
    os.environ["LD_PRELOAD"] = str(build(folder))
    os.execv(sys.executable, [sys.executable, "-m", "reliability", *_arguments()])  # noqa: S606


def _arguments() -> list[str]:
    return ["faults", *sys.argv[1:]]
