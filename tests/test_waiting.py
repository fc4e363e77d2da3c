"""Tests wait for work, not for time: a slow machine fails none, and what is stuck does not hold all others up."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.waiting import Patience, run_program, wait_for

BUSY = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass\nprint('done')"
IDLE = "import time; time.sleep(3600)"


@pytest.mark.slow
def test_work_is_waited_for():
    """A program that works for far longer than patience with idle ones lasts is run to its end."""
    done = run_program([sys.executable, "-c", BUSY, "1"], Patience(quiet=0.3, look=0.1))

    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "patience", "told"), [(IDLE, (1, 60), "nothing was done"), (BUSY, (60, 0.3), "on and on")]
)
def test_what_is_stuck(program, patience, told):
    """A program that does nothing, or never ends, is an error, and is ended."""
    with pytest.raises(AssertionError, match=told):
        run_program([sys.executable, "-c", program, "3600"], Patience(*patience, look=0.1))


def test_a_condition():
    """A condition is asked until it holds; one that nobody works for is an error."""
    answers = iter([0, 0, 7])

    assert wait_for(lambda: next(answers)) == 7
    with pytest.raises(AssertionError, match="nothing was done"):
        wait_for(lambda: False, Patience(quiet=1, look=0.1))


def test_no_test_counts_seconds():
    """No other file of the tests sets a limit of its own."""
    own = {"waiting.py", Path(__file__).name}
    limits = re.compile(r"timeout=[1-9]|\bdeadline = |for _ in range\(\d+\):(?=(?:\n +[^ ].*){0,6}\n +time\.sleep)")

    sources = [path for path in Path(__file__).parent.rglob("*.py") if path.name not in own]
    counting = {path.name for path in sources if limits.search(path.read_text(encoding="utf-8"))}

    assert counting == set()
