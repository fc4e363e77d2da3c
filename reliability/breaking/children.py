"""Commands run in children of this process, which has loaded all that they need: each takes a part of a second."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import resource
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reliability.breaking.shim import loaded

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Fault:
    """What goes wrong in a child: nothing, unless it is said."""

    at: int = -1  # the call that changes the disk at which it begins
    error: int = 0  # what this call and later ones fail with; 0: the process is killed
    clock: int = 0  # seconds that the time of day is off by
    memory: int | None = None  # bytes of addresses beyond those that the child begins with


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int  # exit code; negative: the signal
    told: str  # what it said on stderr
    calls: int  # that change the disk


def run_child(arguments: Sequence[str], folder: Path, fault: Fault = Fault()) -> Ended:
    """Run a command of flowveil in a child, in a folder, and return how it ended."""
    child = start_child(arguments, folder, fault)
    return wait_child(child)


def start_child(arguments: Sequence[str], folder: Path, fault: Fault = Fault()) -> int:
    """Start the same, and return its number."""
    sys.stdout.flush()
    if child := os.fork():
        return child
    code = 99
    try:
        code = _command(list(arguments), folder, fault)
    except BaseException:  # noqa: BLE001  nothing may come back from here
        with contextlib.suppress(OSError):
            traceback.print_exc()
    finally:
        os._exit(code)


def _command(arguments: list[str], folder: Path, fault: Fault) -> int:
    from flowveil._cli.commands import run

    told = os.open(_told(os.getpid()), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(told, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder.with_name("temporary"))
    os.environ["FLOWVEIL_DEBUG"] = "1"
    os.chdir(folder)
    if fault.memory is not None:
        here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (here + fault.memory,) * 2)
    library = loaded() or ctypes.CDLL(None)
    if loaded() is not None:
        library.faults_clock(ctypes.c_long(fault.clock))
        library.faults_arm(ctypes.c_long(fault.at), ctypes.c_int(fault.error))
    code = run(arguments)
    gc.collect()
    atexit._run_exitfuncs()
    calls = library.faults_count() if loaded() is not None else 0
    if loaded() is not None:
        library.faults_arm(ctypes.c_long(-1), ctypes.c_int(0))
    sys.stderr.write(f"\ncalls {calls}\n")
    sys.stderr.flush()
    return code


def _told(child: int) -> Path:
    """Return where a child says what it has to say: not on the disk that it may fill."""
    return Path(tempfile.gettempdir()) / f"flowveil-told.{child}"


def wait_child(child: int) -> Ended:
    """Wait for a child."""
    status = os.waitpid(child, 0)[1]
    path = _told(child)
    told = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    path.unlink(missing_ok=True)
    told, _, calls = told.rpartition("\ncalls ")
    return Ended(os.waitstatus_to_exitcode(status), told, int(calls) if told or calls.strip().isdigit() else 0)
