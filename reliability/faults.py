"""Let flowveil fail wherever it can: make faults, or python -m reliability faults [TRIAL ...].

A command is killed, or its disk is full, at as many of its calls that change the disk as one likes; others run with
another time of day, too little memory, strange names and locales, an input that changes, or ten at once. Nothing may
be there in part, nothing that was there may be lost, and what failed must be told with a hint.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reliability.breaking import commands as known
from reliability.breaking.children import Fault, run_child, start_child, wait_child
from reliability.breaking.commands import COMMANDS, Command
from reliability.breaking.shim import can_build, load_and_start_again, loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERY = 7  # of so many runs that were broken off, one is made again to its end
HOUR = 3_600


@dataclass
class Trial:
    """What was tried of one kind, and what broke."""

    what: str
    runs: int = 0
    broken: list[str] = field(default_factory=list)

    def note(self, problem: str | None, where: str) -> None:
        """Count a run, and what is wrong with it."""
        self.runs += 1
        if problem is not None:
            self.broken.append(f"{where}: {problem}")
            print(f"{self.what}: {where}: {problem}", flush=True)


def main() -> None:
    """Run trials and print what came of them as a table."""
    parser = argparse.ArgumentParser(prog="python -m reliability faults", description=__doc__)
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--places", type=int, default=50, help="at how many calls of a command (default 50)")
    parser.add_argument("--commands", help=f"with commas between them, of {', '.join(each.name for each in COMMANDS)}")
    asked = parser.parse_args()
    if can_build() and loaded() is None:
        load_and_start_again()
    chosen = [each for each in COMMANDS if not asked.commands or each.name in asked.commands.split(",")]
    done = []
    room = Path(tempfile.mkdtemp(prefix="flowveil-faults-"))  # which no child removes when it ends
    try:
        bench = Bench(room)
        for name in asked.trials or TRIALS:
            for trial in TRIALS[name](bench, chosen, asked.places):
                done.append(trial)
                print(f"| {trial.what} | {trial.runs} | {len(trial.broken)} |", flush=True)
    finally:
        shutil.rmtree(room)
    print("\n| what was tried | runs | broke |\n|---|---:|---:|")
    print("\n".join(f"| {trial.what} | {trial.runs} | {len(trial.broken)} |" for trial in done))
    sys.exit(1 if any(trial.broken for trial in done) else 0)


class Bench:
    """Where commands are run, and how each ends when nothing goes wrong."""

    def __init__(self, room: Path) -> None:
        self.room = room
        self.inputs = room / "inputs"
        self.inputs.mkdir()
        known.shrink_demo()
        known.make_inputs(self.inputs)
        self._whole: dict[str, tuple[dict, dict, int]] = {}
        self._ready: dict[str, Path] = {}  # what is there before a command, where another one has to make it

    def begin(self, command: Command) -> Path:
        """Return a folder that is as before a command."""
        folder = self.room / "work"
        known.clear(folder)
        known.prepare(folder, self._ready.get(command.name, self.inputs))
        if command.before is not None and command.name not in self._ready:
            assert run_child(command.before, folder).code == 0
            self._ready[command.name] = self.room / f"before {len(self._ready)}"
            shutil.copytree(folder, self._ready[command.name])
        return folder

    def whole(self, command: Command) -> tuple[dict, dict, int]:
        """Return what is there before and after a command, and how many calls it makes that change the disk."""
        if command.name not in self._whole:
            from flowveil._cli.commands import run

            folder = self.begin(command)
            before = known.units(folder)
            here = Path.cwd()
            os.chdir(folder)  # in this process, so that its children find everything compiled
            with open(os.devnull, "w") as nowhere:  # noqa: PTH123
                from contextlib import redirect_stderr, redirect_stdout

                with redirect_stdout(nowhere), redirect_stderr(nowhere):
                    assert run(list(command.arguments)) == 0, command.name
            os.chdir(here)
            folder = self.begin(command)
            ended = run_child(command.arguments, folder)
            assert ended.code == 0, (command.name, ended.told)
            left = known.hidden(folder)
            assert not left, (command.name, left)
            self._whole[command.name] = before, known.units(folder), ended.calls
        return self._whole[command.name]

    def break_off(self, trial: Trial, command: Command, fault: Fault, *, again: bool) -> None:
        """Run a command with a fault, look at what it leaves, and let the next run mend it."""
        before, after, _ = self.whole(command)
        folder = self.begin(command)
        ended = run_child(command.arguments, folder, fault)
        where = f"{command.name} at {fault.at}" if fault.at > 0 else command.name
        killed = fault.at > 0 and fault.error == 0
        problem = None if killed and ended.code == -9 else known.told_well(ended.told, ended.code)
        problem = problem or known.wrong(command, folder, before, after)
        if problem is None and not killed and (left := known.hidden(folder)):
            problem = f"left behind: {left}"
        if problem is None and again:
            problem = self._again(command, folder, after)
        trial.note(problem, where)

    def _again(self, command: Command, folder: Path, after: dict) -> str | None:
        overwrite = [] if "--overwrite" in command.arguments or command.name == "study" else ["--overwrite"]
        ended = run_child([*command.arguments, *overwrite], folder)
        if ended.code and command.name == "anonymize --register":
            return None if "error: " in ended.told else ended.told[-300:]
        if ended.code:
            return f"the next run fails: {ended.told[-300:]}"
        if not command.by_chance and known.units(folder) != after:
            return "the next run does not give the same"
        left = known.hidden(folder)
        return f"the next run leaves {left}" if left else None


def _places(calls: int, most: int) -> list[int]:
    """Return at which calls to break off: all, or so many of them from the first to the last."""
    return (
        sorted({1 + place * (calls - 1) // max(most - 1, 1) for place in range(most)})
        if calls > most
        else list(range(1, calls + 1))
    )


def _at_calls(what: str, error: int) -> Callable[[Bench, list[Command], int], Iterator[Trial]]:
    def run(bench: Bench, chosen: list[Command], places: int) -> Iterator[Trial]:
        for command in chosen:
            if loaded() is None:
                print("not tried: there is no compiler, or this is not Linux")
                return
            calls = bench.whole(command)[2]
            trial = Trial(f"`{command.name}` {what}, {calls} calls")
            for number, place in enumerate(_places(calls, places)):
                bench.break_off(trial, command, Fault(at=place, error=error), again=number % EVERY == 0)
            yield trial

    return run


def _memory(bench: Bench, chosen: list[Command], _places: int) -> Iterator[Trial]:
    trial = Trial("too little memory")
    for command in chosen:
        for megabytes in (0, 8, 64, 256, 1024) if command.name != "study" else ():
            bench.break_off(trial, command, Fault(memory=megabytes << 20), again=megabytes == 64)
    yield trial


def _clock(bench: Bench, chosen: list[Command], _places: int) -> Iterator[Trial]:
    import time

    now = int(time.time())
    for year, moment in (("1970", 60), ("2038", 2**31 + 60), ("2100", 4_102_444_800)):
        trial = Trial(f"the clock in {year}")
        for command in chosen:
            bench.break_off(trial, command, Fault(clock=moment - now), again=False)
        yield trial


def _at_once(bench: Bench, _chosen: list[Command], _places: int) -> Iterator[Trial]:
    for number in (2, 10):
        trial = Trial(f"{number} runs to one folder at once")
        for name in (
            "anonymize",
            "anonymize --overwrite",
            "anonymize --register",
            "trajectories anonymize",
            "export csv",
        ):
            command = next(each for each in COMMANDS if each.name == name)
            before, after, _ = bench.whole(command)
            folder = bench.begin(command)
            children = [start_child(command.arguments, folder) for _ in range(number)]
            ended = [wait_child(child) for child in children]
            problem = next((what for each in ended if (what := known.told_well(each.told, each.code))), None)
            done = sum(each.code == 0 for each in ended)
            if problem is None and done != (number if "--overwrite" in command.arguments else 1):
                problem = f"{done} of {number} were told that they wrote it"
            problem = problem or known.wrong(command, folder, before, after)
            if problem is None and (left := known.hidden(folder)):
                problem = f"left behind: {left}"
            trial.note(problem, name)
        yield trial


def _changing(bench: Bench, _chosen: list[Command], places: int) -> Iterator[Trial]:
    """Let another process write the input anew, cut it and bring it back, as long as a command reads it."""
    trial = Trial("an input that changes while it is read")
    for name in ("anonymize", "anonymize --epsilon", "trajectories anonymize", "trips", "report --against"):
        command = next(each for each in COMMANDS if each.name == name)
        _, after, _ = bench.whole(command)
        source = next(each for each in command.arguments if each in {"trips.parquet", "samples.parquet"})
        for number in range(max(places // 5, 2)):
            folder = bench.begin(command)
            content = (folder / source).read_bytes()
            child = start_child(command.arguments, folder)
            step = 0
            while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                step += 1
                kinds = (content, content[: len(content) // 2], content[:-7], b"", content[::-1])
                (folder / source).write_bytes(kinds[(step + number) % len(kinds)])
            ended = wait_child(child)
            problem = known.told_well(ended.told, ended.code)
            known.settle(folder)
            whole = {name: set(files) for name, files in after.items()}
            for name_of, files in known.units(folder).items():
                if name_of in {"out", "made", "stops"} and set(files) != whole.get(name_of):
                    problem = problem or f"{name_of} has {sorted(files)}"
            if problem is None and (left := known.hidden(folder)):
                problem = f"left behind: {left}"
            trial.note(problem, f"{name} {number}")
    yield trial


def _damaged(bench: Bench, _chosen: list[Command], places: int) -> Iterator[Trial]:
    """Cut Parquet files and turn single bits of them: the input of a command, and the tables of a release."""
    from random import Random

    chance = Random(1)
    for what, file, arguments in (
        ("an input of which a bit is turned or the end is cut", "trips.parquet", (*known.MAKE, "-o", "out")),
        (
            "a release of which a bit is turned or the end is cut",
            "given/flows.parquet",
            ("verify", "given", "--against", "trips.parquet"),
        ),
        (
            "outlines of a release of which a bit is turned or the end is cut",
            "given/areas.parquet",
            ("report", "given"),
        ),
    ):
        trial = Trial(what)
        command = Command(what, arguments)
        for number in range(places):
            folder = bench.begin(command)
            content = bytearray((folder / file).read_bytes())
            place = chance.randrange(len(content))
            if number % 3:
                content[place] ^= 1 << chance.randrange(8)
            (folder / file).write_bytes(content if number % 3 else content[:place])
            before = known.units(folder)
            ended = run_child(command.arguments, folder)
            problem = known.told_well(ended.told, ended.code)
            if problem is None and "flows" in file and ended.code == 0:
                problem = "a release that was changed verifies"
            if problem is None and ended.code and known.units(folder) != before:
                problem = "it fails and writes"
            trial.note(problem, f"{'bit' if number % 3 else 'cut'} at {place}")
        yield trial


NAMES = (
    "with space",
    "new\nline",
    "o'ut",
    "ü" * 60,
    "a" * 200,
    "ﬀ",
    "İı",
    "[x]*?",
    "%s{0}",
    "-o",
    "~",
    "$HOME",
    "a\\b",
    "\u202eabc",
)


def _names(bench: Bench, _chosen: list[Command], _places: int) -> Iterator[Trial]:
    """Read from and write to names that nobody likes; bytes that are no text and names too long are refused."""
    trial = Trial("names of files")
    refused = (os.fsdecode(b"\xff\xfe"), "a" * 255, "a" * 300, "", ".", "..", "a/b")
    for name in (*NAMES, *refused):
        folder = bench.begin(Command("names", ()))
        if name in NAMES:
            (folder / f"{name}.parquet").write_bytes((folder / "trips.parquet").read_bytes())
            source = f"./{name}.parquet"
        else:
            source = "trips.parquet"
        before = known.units(folder)
        ended = run_child(["anonymize", source, *known.MAKE[2:], "-o", f"./{name}" if name else name], folder)
        problem = known.told_well(ended.told, ended.code)
        if problem is None and name in NAMES and ended.code:
            problem = f"refused: {ended.told[-300:]}"
        if problem is None and name in refused and (ended.code != 2 or known.units(folder) != before):
            problem = f"exit code {ended.code}, and {sorted(known.units(folder))}"
        if problem is None and (left := [each for each in known.hidden(folder) if "parquet" not in each]):
            problem = f"left behind: {left}"
        trial.note(problem, repr(name))
    yield trial


SURROUNDINGS: tuple[dict[str, str], ...] = (
    {"LC_ALL": "tr_TR.UTF-8"},
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "ar_EG.UTF-8", "LANGUAGE": "ar", "TZ": "Asia/Kathmandu"},
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "utf-16"},
    {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    {"TZ": "nowhere", "HOME": "/nowhere"},
    {"COLUMNS": "1", "TERM": "dumb"},
)


def _surroundings(bench: Bench, _chosen: list[Command], _places: int) -> Iterator[Trial]:
    """Start flowveil anew in odd locales and encodings; what is written does not depend on them."""
    command = next(each for each in COMMANDS if each.name == "anonymize")
    _, after, _ = bench.whole(command)
    trial = Trial("locales, encodings and clocks of the surroundings")
    for more in SURROUNDINGS:
        folder = bench.begin(command)
        (folder / "ünï.parquet").write_bytes((folder / "trips.parquet").read_bytes())
        kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        start = [sys.executable, "-m", "flowveil"]
        for arguments, code in (
            (command.arguments, 0),
            (("anonymize", "ünï.parquet", "--unit", "pürson", "-o", "nö"), 2),
        ):
            ended = subprocess.run([*start, *arguments], cwd=folder, env=kept | more, capture_output=True, check=False)
            told = ended.stderr.decode("utf-16" if "utf-16" in more.values() else "utf-8", "replace")
            problem = known.told_well(told, ended.returncode)
            if problem is None and ended.returncode != code:
                problem = f"exit code {ended.returncode}: {told[-300:]}"
            if problem is None and known.units(folder).get("out") != after["out"]:
                problem = "something else is written"
            trial.note(problem, f"{more} {arguments[0]}")
    yield trial


def _small_disk(bench: Bench, chosen: list[Command], places: int) -> Iterator[Trial]:
    """Write to a disk that is really full: a small one in memory, which only root may make."""
    trial = Trial("a small disk")
    place = bench.room / "disk"
    place.mkdir()
    for command in chosen:
        if command.name == "study":
            continue
        for kilobytes in [4 * (1 + 2 * number) for number in range(max(places // 10, 2))]:
            folder = bench.begin(command)
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            size = (size + 4096 * sum(1 for _ in folder.rglob("*"))) // 1024 + kilobytes
            mounted = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", str(place)], check=False, capture_output=True
            )
            if mounted.returncode:
                print("not tried: only root may mount a small disk")
                return
            try:
                here = place / "room"
                here.mkdir()
                folder.rename(here / "work") if folder.stat().st_dev == place.stat().st_dev else _move(
                    folder, here / "work"
                )
                (here / "temporary").mkdir()
                before, after, _ = bench.whole(command)
                ended = run_child(command.arguments, here / "work")
                left = known.hidden(here / "work")
                looked = bench.room / "looked"  # on a disk with room: a register needs some even to be read
                shutil.rmtree(looked, ignore_errors=True)
                shutil.copytree(here / "work", looked)
                problem = known.told_well(ended.told, ended.code) or known.wrong(command, looked, before, after)
                if problem is None and left:
                    problem = f"left behind: {left}"
                trial.note(problem, f"{command.name} with {kilobytes} kB")
            finally:
                subprocess.run(["umount", str(place)], check=True)
    yield trial


def _move(folder: Path, target: Path) -> None:
    shutil.copytree(folder, target)
    shutil.rmtree(folder)


TRIALS: dict[str, Callable[[Bench, list[Command], int], Iterator[Trial]]] = {
    "killed": _at_calls("killed", 0),
    "full": _at_calls("on a full disk", errno.ENOSPC),
    "read-only": _at_calls("on a disk that becomes read-only", errno.EROFS),
    "small-disk": _small_disk,
    "memory": _memory,
    "clock": _clock,
    "at-once": _at_once,
    "changing": _changing,
    "damaged": _damaged,
    "names": _names,
    "surroundings": _surroundings,
}
