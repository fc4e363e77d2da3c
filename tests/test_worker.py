"""A process of our own: what is asked of it, what it tells, and how it ends."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import flowveil as fv
from flowveil._app.files import TooLargeError
from flowveil._errors import FlowveilError, PromiseError, UnknownNameError, VerificationError
from flowveil._processes import Worker
from flowveil._study.cells import Call, Cell
from flowveil._study.limits import Limits, limited_rows
from tests.asked import ERRORS, Nowhere, Sums, break_down, end, fail, same

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _workers_load_this_file(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)


def test_calls_follow_each_other():
    """Results come back, what is told is heard in order, and the function keeps what it knows."""
    told = []

    with Worker(Sums().add) as worker:
        results = [worker.call([1, 2], told.append), worker.call([]), worker.call([3], told.append)]

    assert results == [3, 3, 6]
    assert told == [1, 3, 6]
    assert worker.exit_code == -signal.SIGKILL


def test_shared_objects_are_sent_once():
    """What calls share is one object in the worker."""
    shared = np.arange(100_000)

    with Worker(partial(same, shared), [shared]) as worker:
        assert [worker.call([shared]), worker.call([shared])] == [(True, 100_000)] * 2
        assert worker.call([shared[:5]]) == (False, 5)


def test_errors_are_told_in_one_way():
    """Whatever a function raises comes as a message and a hint, and the worker goes on."""
    with Worker(fail, stderr=subprocess.DEVNULL) as worker:
        for asked, (_, message, hint) in ERRORS.items():
            with pytest.raises(FlowveilError) as caught:
                worker.call(asked)
            assert (caught.value.message, caught.value.hint) == (message, hint)
        with pytest.raises(FlowveilError, match="lambda"):
            worker.call("unsendable")
        assert worker.call("stdin") == ""
        assert worker.call("print") == "print"


def test_a_function_that_cannot_be_loaded():
    """The worker says why."""
    with Worker(Nowhere()) as worker, pytest.raises(FlowveilError, match="ValueError"):
        worker.get_ready()


def test_death():
    """A worker that dies says so at once, in every later call too; Ctrl-C is not for it."""
    with Worker(end, stderr=subprocess.DEVNULL) as worker:
        assert worker.call("interrupt") == "alive"
        for _ in range(2):
            with pytest.raises(EOFError):
                worker.call("exit")
        assert worker.exit_code == 5


@pytest.mark.parametrize("apart", [False, True])
def test_killed_in_a_call(apart):
    """Killing a worker ends the call that another thread waits for."""
    with Worker(end, apart=apart) as worker:
        killer = []

        def kill(_):
            killer.append(Thread(target=worker.kill))
            killer[0].start()

        with pytest.raises(EOFError):
            worker.call("sleep", kill)
        killer[0].join()

    assert worker.exit_code == -signal.SIGKILL


@pytest.mark.parametrize(
    ("how", "job", "note"), [(end, "exit", "last words"), (fail, "bug", "KeyError: 'x'")], ids=["death", "bug"]
)
def test_a_method_that_breaks_down_is_a_row(how, job, note):
    """A study tells what a worker said last, or what it raised, and goes on with the next call."""
    cell = Cell("one", "trips", partial(break_down, how), [Call({"matrix": number}, job) for number in (0, 1)])

    rows = [row for some in limited_rows(None, cell, Limits(), lambda *_: None) for row in some]

    assert rows == [{"matrix": number, "status": "failed", "note": note} for number in (0, 1)]


@pytest.mark.parametrize(
    "error",
    [
        fv.InputError("a", "b"),
        PromiseError("a", "b"),
        VerificationError("a", "b"),
        UnknownNameError("part", "bed", ["bad"]),
        TooLargeError(5_000_000),
    ],
)
def test_errors_can_be_sent(error):
    """Programs that call flowveil in processes of their own get its errors as they were."""
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301  just written

    assert (type(sent), sent.message, sent.hint, str(sent)) == (type(error), error.message, error.hint, str(error))
