"""Matrices solved by several processes give what one gives, and whatever happens to one of them, none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from threading import get_ident

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._methods import find_method
from flowveil._methods.each import solve_each
from flowveil._problem import Problem, Requirement
from flowveil._processes import core_count, spread, worker
from flowveil._processes.core_count import cores, one_core
from flowveil._processes.packing import pack, unpack
from flowveil._processes.spread import over_cores
from flowveil.synthetic import City
from tests.hostile import marks, plant
from tests.test_time_and_groups import many_matrices
from tests.waiting import wait_for

EACH = {"budget": "each"}
METHODS = {name: {} for name in ("atg-dual", "atg-soft", "odkanon", "oigh", "knapsack", "suppression", "uniform-tiles")}
METHODS |= dict.fromkeys(("mosaic", "nested", "crosscut"), EACH)
ROOT = Path(__file__).parents[1]
LONG = 3_600  # seconds: what takes as long is ended by others


def one_by_one(function, parts, _):
    """Do the parts in one process: what all ways are compared with."""
    return [function(part) for part in parts]


def packed_one_by_one(function, parts, shared):
    """Do what is done to parts on their way to other processes and back."""
    function, common = unpack(pack((function, shared)))
    return [unpack(pack(function(unpack(pack(part, shared), common)))) for part in parts]


def everything(solution):
    """Return all of a solution."""
    arrays = (solution.origin, solution.destination, solution.group, solution.matrix, *solution.areas)
    return [array.tolist() for array in arrays], solution.exact, solution.notes, solution.first


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=12, deadline=None)
@given(problem=many_matrices(), loss=st.booleans())
def test_packing_changes_nothing(name, problem, loss):
    """Every method finds the same in parts that were sent, those that are withheld or try again among them."""
    method = find_method(name)
    if not (loss and method.losses):
        problem = Problem(problem.flows, problem.requirement, problem.budget)

    actual, expected = (method.run(problem, METHODS[name], way) for way in (packed_one_by_one, one_by_one))

    assert everything(actual) == everything(expected)


@pytest.mark.slow
def test_what_parts_share_is_sent_once():
    """A packed part is about as large as its own arrays, and nothing of where trips came from goes along.

    What was computed for a part is not kept with it.
    """
    flows = fv.build_flows(City(seed=3, persons=300).trips(12_000), "h3:8", unit="person_id", time="hour-of-day")
    problem = Problem(flows, Requirement(5), flows.total // 10)
    sent = []

    def watch(function, parts, shared):
        found = [function(part) for part in parts]
        sent.extend((len(pack(part, shared)), part.flows, pack((function, shared))) for part in parts)
        return found

    solve_each(find_method("atg-dual").solve, problem, watch)

    assert len(sent) == flows.matrix_count == 24
    for size, part, common in sent:
        people = part.people
        arrays = (part.origin, part.destination, part.trips, people.pair, people.person, people.trips)
        assert size < sum(array.nbytes for array in arrays) + 3_000
        assert part.provenance.source is None
        assert b"person_id" not in common


@pytest.fixture
def helped(monkeypatch):
    """Ask for help at once, on two cores at least; return the processes that were started."""
    started = []

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)  # helpers load functions of this file
    monkeypatch.setattr(spread, "WORTH_HELP", 0)
    monkeypatch.setattr(spread, "_TOLD", 0)
    monkeypatch.setattr(spread, "cores", lambda: 2)
    monkeypatch.setattr(worker.subprocess, "Popen", Recorded)
    return started


def meet(asking, folder):
    """Tell who is at work; the asking process, from its second part on, waits until its helper is too."""
    own = Path(folder) / str(os.getpid())
    alone = not own.exists()
    own.touch()
    if os.getpid() == asking and not alone:
        wait_for(lambda: len(list(Path(folder).iterdir())) > 1)


def solve_and_sign(asking, folder, function, part):
    """Do a part, and tell who did it."""
    meet(asking, folder)
    return os.getpid(), function(part)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["odkanon", "atg-dual"])
def test_two_processes_find_the_same(name, helped, tmp_path):
    """Solutions of a helper are those of this process to the last bit, and it is gone afterwards."""
    flows = fv.build_flows(City(seed=3, persons=300).trips(12_000), "h3:8", unit="person_id", time="hour-of-day")
    problem = Problem(flows, Requirement(5), flows.total // 10)
    who = set()

    def signed(function, parts, shared):
        found = over_cores(partial(solve_and_sign, os.getpid(), tmp_path, function), parts, shared)
        who.update(process for process, _ in found)
        return [solution for _, solution in found]

    actual, expected = (find_method(name).run(problem, {}, way) for way in (signed, one_by_one))

    assert everything(actual) == everything(expected)
    assert who == {os.getpid(), helped[0].pid}
    assert [process.returncode for process in helped] == [-signal.SIGKILL]


def refuse():
    """Raise an error with a hint."""
    raise fv.InputError("this part is bad", "take another")


def fail_elsewhere(asking, folder, how, part):
    """Do a part well only here."""
    meet(asking, folder)
    if os.getpid() != asking:
        how()
    return os.getpid(), part * part


@pytest.mark.slow
@pytest.mark.parametrize("how", [partial(os._exit, 3), refuse], ids=["death", "error"])
def test_a_helper_that_fails_is_no_loss(how, helped, tmp_path):
    """What a helper had taken when it died is done here."""
    found = over_cores(partial(fail_elsewhere, os.getpid(), tmp_path, how), range(40), ())

    assert found == [(os.getpid(), number**2) for number in range(40)]
    assert all(process.returncode for process in helped)


@pytest.mark.slow
def test_what_helpers_print_does_no_harm(helped, tmp_path):
    """Answers are not mixed with what a library prints."""
    found = over_cores(partial(fail_elsewhere, os.getpid(), tmp_path, partial(print, "x" * 99_999)), range(40), ())

    assert [result for _, result in found] == [number**2 for number in range(40)]
    assert {process for process, _ in found} == {os.getpid(), helped[0].pid}


@pytest.mark.slow
def test_files_of_the_current_folder_are_not_run(helped, tmp_path, monkeypatch):
    """A helper loads no module from the folder that it is started in."""
    folder, mark = plant(tmp_path)
    monkeypatch.chdir(folder)
    seen = tmp_path / "seen"
    seen.mkdir()

    found = over_cores(partial(fail_elsewhere, os.getpid(), seen, int), range(40), ())

    assert {process for process, _ in found} == {os.getpid(), helped[0].pid}
    assert marks(mark) == []


def refuse_some(asking, folder, bad, part):
    """Raise at one part, whoever does it."""
    meet(asking, folder)
    if part == bad:
        raise fv.UnknownNameError("part", "bed", ["bad"])
    return part


@pytest.mark.slow
@pytest.mark.parametrize("bad", [0, 2, 39])
def test_errors_come_through(bad, helped, tmp_path):
    """The error of a part is raised as it is, whoever found it, and no helper is left."""
    with pytest.raises(fv.UnknownNameError) as caught:
        over_cores(partial(refuse_some, os.getpid(), tmp_path, bad), range(40), ())

    assert (caught.value.message, caught.value.hint) == ("there is no part 'bed'", "did you mean 'bad'?")
    assert all(process.poll() is not None for process in helped)


def interrupt(asking, folder, part):
    """Press Ctrl-C when the helper is at work, which then would work for long."""
    meet(asking, folder)
    if os.getpid() != asking:
        time.sleep(LONG)
    if part > 0:
        raise KeyboardInterrupt


@pytest.mark.slow
def test_interrupt(helped, tmp_path):
    """Ctrl-C ends the helper too, at once."""
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        over_cores(partial(interrupt, os.getpid(), tmp_path), range(40), ())

    assert time.monotonic() < start + LONG
    assert [process.returncode for process in helped] == [-signal.SIGKILL]


def sleep(folder, part):
    """Tell who is at work, and take long but for the first part."""
    (Path(folder) / str(os.getpid())).touch()
    if part:
        time.sleep(LONG)


ASKING = """
import sys
from functools import partial
from flowveil._processes import spread
from tests.test_spread import sleep

if __name__ != "__main__":
    raise SystemExit("a helper must not run the program that asks for help")
spread.WORTH_HELP = spread._TOLD = 0
spread.cores = lambda: 2
spread.over_cores(partial(sleep, sys.argv[1]), range(40), ())
"""


@pytest.mark.slow
def test_a_killed_process_leaves_no_helper(tmp_path):
    """When the asking process is killed, its helper ends in the middle of a part."""
    script, seen = tmp_path / "asking.py", tmp_path / "seen"
    script.write_text(ASKING)
    seen.mkdir()
    with subprocess.Popen(
        [sys.executable, script, seen], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}
    ) as asking:
        wait_for(lambda: len(list(seen.iterdir())) == 2)
        helper = next(int(path.name) for path in seen.iterdir() if int(path.name) != asking.pid)
        asking.kill()

    wait_for(lambda: not running(helper))


def running(process):
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("program", ["", "/no/such/program"])
def test_no_helper_can_start(program, helped, monkeypatch):
    """Where the system lets no helper start, all is done here."""
    monkeypatch.setattr(sys, "executable", program)

    assert over_cores(np.sqrt, [4, 9, 16], ()) == [2, 3, 4]

    assert not helped


def test_little_work_is_done_alone(monkeypatch):
    """Nobody is asked to help on one core, or with work that is soon done."""

    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr(worker.subprocess, "Popen", refuse)
    assert over_cores(np.sqrt, [4, 9], ()) == [2, 3]
    monkeypatch.setattr(spread, "WORTH_HELP", 0)
    monkeypatch.setattr(spread, "_TOLD", 0)
    monkeypatch.setattr(spread, "cores", lambda: 1)
    assert over_cores(np.sqrt, [4, 9], ()) == [2, 3]


def test_one_core():
    """Work on one of many parts leaves the other cores alone."""
    before = cores()
    with one_core():
        assert core_count.cores() == 1
        assert core_count.at_once(lambda _: get_ident(), range(3)) == [get_ident()] * 3
    assert cores() == before
