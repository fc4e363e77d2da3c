"""Waiting in tests: for as long as work goes on, however slow the machine, not for a number of seconds.

Work is the processor time of the processes that this one has started. What takes QUIET seconds with next to none of
it is stuck; so is what takes more than ENOUGH of it.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress

import psutil

QUIET = 600  # seconds; a busy machine gives everybody a turn long before
STIR = 0.02  # of a core: what idle Java takes is less
ENOUGH = 600  # seconds of processor time; the longest tests take some sixty
_LOOK = 5  # seconds between two looks at the processes


def work_of_children() -> float:
    """Return the seconds of processor time of all processes below this one, those that have ended among them."""
    own = os.times()
    total = own.children_user + own.children_system
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


class Patience:
    """What is left of the patience with something that goes on elsewhere."""

    def __init__(self, quiet: float = QUIET, enough: float = ENOUGH, look: float = _LOOK):
        """Begin to wait."""
        self._quiet, self._look = quiet, look
        self._looked = self._stirred = time.monotonic()
        self._work = work_of_children()
        self._limit = self._work + enough

    def check(self) -> None:
        """Raise an error if nothing goes on, or the same thing forever."""
        now = time.monotonic()
        if now < self._looked + self._look:
            return
        work, self._looked = work_of_children(), now
        assert work < self._limit, "it goes on and on"
        if abs(work - self._work) > STIR * self._quiet:  # less where a process has ended that nobody waited for
            self._work, self._stirred = work, now
        assert now < self._stirred + self._quiet, f"nothing was done for {self._quiet} seconds"


def wait_for(condition, patience: Patience | None = None):
    """Wait until something is true, and return what made it so."""
    patience = patience or Patience()
    while not (answer := condition()):
        patience.check()
        time.sleep(0.05)
    return answer


def run_program(command, patience: Patience | None = None, **options) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; return its exit code and what it printed, as text."""
    patience = patience or Patience()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                output, complaints = process.communicate(timeout=1)
                return subprocess.CompletedProcess(command, process.returncode, output, complaints)
            patience.check()
    except BaseException:
        process.kill()
        process.communicate()
        raise
