"""Feed flowveil what nobody should give it: make fuzz, or python -m reliability fuzz [TARGET ...].

Executions are numbered, and a number gives the same input as long as what was kept before is the same. What was done
stands in STATE/state.json, so that the next run goes on where this one ended; what broke something, in STATE/findings.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reliability.fuzzing.targets import TARGETS, find_target

if TYPE_CHECKING:
    from collections.abc import Sequence

STATE = Path("build/fuzz")


def main() -> None:
    """Run targets in turn until time is over, and print a table of all that was ever done."""
    parser = argparse.ArgumentParser(prog="python -m reliability fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(t.name for t in TARGETS)}")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to go on (default 10)")
    parser.add_argument("--batch", type=int, help="executions of one process")
    parser.add_argument(
        "--state", type=Path, default=STATE, help=f"where it is written what was done (default {STATE})"
    )
    parser.add_argument("--again", type=Path, help="run the input of a file of findings once, and show what happens")
    asked = parser.parse_args()
    if asked.again is not None:
        run_again(asked.again)
        return
    state = State(asked.state)
    until = time.monotonic() + 60 * asked.minutes
    targets = [find_target(name) for name in asked.targets] or list(TARGETS)
    while True:
        # Whoever had least of the time, for its share of it, is next.
        target = min(targets, key=lambda target: state.of(target.name)["seconds"] / target.share)
        run_batch(state, target.name, asked.batch or target.batch)
        if time.monotonic() >= until:
            break
    print(table(state, [target.name for target in targets]))


class State:
    """What was done so far, by target."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        (self.folder / "findings").mkdir(parents=True, exist_ok=True)
        self._file = self.folder / "state.json"
        self.targets: dict[str, dict] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def of(self, name: str) -> dict:
        """Return what was done of a target."""
        return self.targets.setdefault(
            name, {"next": 0, "taken": 0, "refused": 0, "broken": 0, "seconds": 0.0, "what": {}}
        )

    def save(self) -> None:
        """Write it down."""
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self.targets, indent=1))
        new.replace(self._file)

    def add(self, name: str, finding: dict) -> None:
        """Note a finding; the first of each kind is kept with its input."""
        known = self.of(name)["what"]
        known[finding["what"]] = known.get(finding["what"], 0) + 1
        if known[finding["what"]] == 1:
            plain = "".join(letter if letter.isalnum() else "-" for letter in finding["what"])[:80]
            (self.folder / "findings" / f"{name}-{plain}.json").write_text(
                json.dumps({"target": name} | finding, indent=1)
            )
            print(f"{name} {finding['number']}: {finding['what']}", flush=True)


def run_batch(state: State, name: str, size: int) -> None:
    """Run executions of a target in a process of its own; if it dies of one, that is a finding."""
    done = state.of(name)
    command = [sys.executable, "-m", "reliability.fuzzing.worker", name, str(done["next"]), str(done["next"] + size)]
    ended = subprocess.run([*command, str(state.folder)], capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        result = json.loads(ended.stdout.splitlines()[-1])
        for key in ("taken", "refused", "broken", "seconds"):
            done[key] += result.get(key, 0)
        for finding in result["findings"]:
            state.add(name, finding)
        done["next"] += size
    else:
        _note_death(state, name, ended)
    state.save()


def _note_death(state: State, name: str, ended: subprocess.CompletedProcess[str]) -> None:
    """Note the execution that a process died of; those before it have been done, though nothing is known of them."""
    done, current = state.of(name), state.folder / "current"
    number, _, data = current.read_bytes().partition(b"\n") if current.exists() else (b"-1", b"", b"")
    if int(number) < done["next"]:
        sys.exit(f"{name} cannot begin:\n{ended.stderr[-4000:]}")
    code = -ended.returncode
    what = "too slow" if code == signal.SIGPROF else f"ended by {signal.Signals(code).name}" if code > 0 else "ended"
    state.add(name, {"what": what, "told": ended.stderr[-4000:], "number": int(number), "data": _as_text(data)})
    done["taken"] += int(number) - done["next"]
    done["broken"] += 1
    done["seconds"] += 30.0  # not known; enough for others to have their turn
    done["next"] = int(number) + 1


def _as_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def run_again(file: Path) -> None:
    """Run the input of a finding in this process, where a debugger can look on."""
    from tempfile import TemporaryDirectory

    finding = json.loads(file.read_text())
    print(f"{finding['target']}: {finding['what']}\n{finding['told']}\n---")
    os.environ.setdefault("FLOWVEIL_DEBUG", "1")
    with TemporaryDirectory() as folder:
        find_target(finding["target"]).run(base64.b64decode(finding["data"]), Path(folder))


def table(state: State, names: Sequence[str]) -> str:
    """Return all that was ever done with targets as a table."""
    rows = [
        "| target | executions | taken | refused | broke | kinds of findings | processor time, s |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    total = 0
    of_targets = {name: state.of(name) for name in names}
    for name, done in of_targets.items():
        number = done["taken"] + done["refused"] + done["broken"]
        total += number
        figures = (number, done["taken"], done["refused"], done["broken"], len(done["what"]), round(done["seconds"]))
        rows.append(f"| {name} | {' | '.join(f'{figure:,}' for figure in figures)} |")
    kinds = "\n".join(
        f"{name}: {what} ({often})" for name, done in of_targets.items() for what, often in done["what"].items()
    )
    return "\n".join([*rows, f"| all | {total:,} | | | | | |", kinds])
