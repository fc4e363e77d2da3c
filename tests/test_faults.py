"""A little of `make faults`: a command that is killed, or whose disk is full, at its first and last calls."""

from __future__ import annotations

import sys

import pytest
from reliability.breaking.shim import can_build

from tests.waiting import run_program


@pytest.mark.slow
@pytest.mark.skipif(not can_build(), reason="there is no C compiler, or this is not Linux")
def test_a_small_run():
    """Nothing is there in part, nothing that was there is lost, and a failure is told."""
    command = [sys.executable, "-m", "reliability", "faults", "killed", "full", "--places", "3"]

    done = run_program([*command, "--commands", "anonymize --overwrite"])

    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| `anonymize --overwrite`")]
    assert {(row[2].strip(), row[3].strip()) for row in rows} == {("3", "0")}
