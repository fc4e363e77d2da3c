"""Running tests on a program with a mistake: in a fork, or in a program of its own."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import types
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "src" / "flowveil"
PATIENCE = 4  # times what a test takes on the program as it is, of processor time
LEAST_SECONDS = 3.0
MEMORY = 6 << 30  # more than the server has
KILLED, TIMEOUT, CRASH, SURVIVED, UNTOUCHED = "killed", "timeout", "crash", "survived", "untouched"
ENDS = {0: SURVIVED, 1: KILLED} | dict.fromkeys((-signal.SIGPROF, -signal.SIGALRM, -signal.SIGKILL), TIMEOUT)


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a piece of code and all inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes_in(inner)


def calls(function: types.FunctionType, loops: list[Any]) -> bool:
    """Whether a function names one of some loops: of its own room, or beside the name of the loop's file."""
    names = {name for code in codes_in(function.__code__) for name in code.co_names}
    for loop in loops:
        room, _, module = loop.py_func.__module__.rpartition(".")
        own = {name for name, thing in vars(sys.modules[loop.py_func.__module__]).items() if thing is loop}
        if own & names and (function.__module__.rpartition(".")[0] == room or module in names):
            return True
    return False


def lay_over(folder: Path, name: str, text: str) -> None:
    """Make a folder that holds a mutated file, and links to all other files of flowveil."""
    at, there = folder / "flowveil", HOUSE
    for part in name.split("/"):
        at.mkdir()
        for other in there.iterdir():
            if other.name not in (part, "__pycache__"):
                (at / other.name).symlink_to(other)
        at, there = at / part, there / part
    at.write_text(text, encoding="utf-8")


def run_plainly(loops: list[Any]) -> None:
    """Put plain functions in the place of compiled ones, wherever these are known."""
    plain = {id(loop): loop.py_func for loop in loops}
    for module in list(sys.modules.values()):
        for name, thing in list(getattr(module, "__dict__", {}).items()):
            if id(thing) in plain:
                setattr(module, name, plain[id(thing)])


def in_child(work: Callable[[Callable[[str], None]], int], seconds: float) -> tuple[int, str | None]:
    """Do something in a fork; return how it ended, and the last line that it told."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(nothing, number)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os._exit(work(lambda text: os.write(write, f"{text}\n".encode())))
        finally:  # whatever a mutant does
            os._exit(3)
    os.close(write)
    handle = os.pidfd_open(child)
    if not select.select([handle], [], [], seconds)[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):  # programs that it started
        os.killpg(child, signal.SIGKILL)
    os.close(handle)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode().splitlines()
    return os.waitstatus_to_exitcode(status), said[-1] if said else None


def in_program(folder: str, tests: list[str], seconds: float) -> tuple[str, str | None]:
    """Run tests in a program of their own, on the files of a folder; return how it ended."""
    most = int(30 + PATIENCE * seconds)
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))  # noqa: E731
    places = {"PYTHONPATH": folder, "HYPOTHESIS_STORAGE_DIRECTORY": f"{folder}/examples"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--basetemp={folder}/tests",
        *tests,
    ]
    try:
        done = subprocess.run(
            command,
            env=os.environ | places,
            cwd=ROOT,
            preexec_fn=limit,
            capture_output=True,
            text=True,
            timeout=30 * most,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return TIMEOUT, None
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return TIMEOUT, None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (KILLED if done.returncode else SURVIVED), failed[0][:200] if failed else None
