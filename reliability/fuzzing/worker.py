"""One process that runs some executions of a target; it may die of one of them, and the next process goes on after it.

It prints a JSON object: how many inputs were taken and refused, and findings.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
import zlib
from contextlib import nullcontext
from pathlib import Path
from random import Random

from flowveil._errors import FlowveilError, FlowveilWarning
from reliability.fuzzing.changing import change
from reliability.fuzzing.seen import Seen
from reliability.fuzzing.target import Broken, Target
from reliability.fuzzing.targets import find_target

MOST_MEMORY = 1 << 30  # bytes that one execution may add to the peak of the process
MOST_ADDRESSES = 24 << 30
WATCHED = 8  # one execution of so many is watched: that takes as long as many of them
MOST_KEPT = 1_000  # inputs of a target that led somewhere new
_HERE = str(Path(__file__).parents[1])


def main() -> None:
    """Run executions FIRST to LAST of TARGET, in the folder of the state, and print what came of it."""
    name, first, last, state = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    target = find_target(name)
    print(json.dumps(run(target, range(first, last), state)))


def run(target: Target, numbers: range, state: Path) -> dict[str, object]:
    """Run executions of a target by their numbers."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    warnings.simplefilter("error")
    for kind in (FlowveilWarning, DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)
    kept = state / "kept" / target.name
    kept.mkdir(parents=True, exist_ok=True)
    if target.begin is not None:
        target.begin()
    seeds = [] if target.seeds is None else list(target.seeds())
    pool = seeds + [path.read_bytes() for path in sorted(kept.iterdir())]
    current = os.open(state / "current", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    seen, result = Seen(), {"taken": 0, "refused": 0, "seconds": 0.0, "findings": []}
    with tempfile.TemporaryDirectory(prefix="flowveil-fuzz-") as room:
        spill = Path(room) / "temporary"
        spill.mkdir()
        tempfile.tempdir = os.environ["TMPDIR"] = str(spill)
        for number in (*range(-len(pool), 0), *numbers):
            data = _input(target, number, pool)
            _tell(current, number, data)
            seen.news = 0
            watched = target.seeds is not None and (number < 0 or number % WATCHED == 0)
            outcome, finding = execute(target, data, Path(room), seen if watched else None)
            if number < 0:
                continue  # known: it shows which lines are no news, and compiles what is compiled once
            result[outcome] = result.get(outcome, 0) + 1
            if finding is not None:
                result["findings"].append(finding | {"number": number, "data": base64.b64encode(data).decode()})
            elif watched and seen.news and len(pool) < MOST_KEPT:
                pool.append(data)
                (kept / f"{number:09}").write_bytes(data)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return result | {"seconds": used.ru_utime + used.ru_stime}


def _input(target: Target, number: int, pool: list[bytes]) -> bytes:
    if number < 0:
        return pool[number]
    if target.seeds is None:
        return str(number).encode()
    chance = Random(number << 32 | zlib.crc32(target.name.encode()))
    return change(chance.choice(pool), chance, pool, target.words, target.largest)


def _tell(current: int, number: int, data: bytes) -> None:
    """Write down what is run now, for whoever looks after this process if it dies of it."""
    text = b"%d\n%s" % (number, data)
    os.pwrite(current, text, 0)
    os.ftruncate(current, len(text))


def execute(target: Target, data: bytes, room: Path, seen: Seen | None) -> tuple[str, dict[str, str] | None]:
    """Run a target once: return whether the input was taken, refused or broke something, and what it broke."""
    folder = room / "work"
    if target.files:
        folder.mkdir()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_PROF, target.seconds)  # whose signal ends the process, whatever it does
    outcome, finding = "taken", None
    try:
        with nullcontext() if seen is None else seen.watch():
            target.run(data, folder)
    except FlowveilError as error:
        outcome, finding = "refused", _complaint(error)
    except Broken as error:
        outcome, finding = "broken", {"what": f"Broken: {str(error).split(':')[0]}", "told": str(error)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  anything else is what is looked for
        outcome, finding = "broken", {"what": _place(error), "told": traceback.format_exc()[-4000:]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if finding is None and grown > MOST_MEMORY:
        outcome, finding = "broken", {"what": "memory", "told": f"{grown / 1e9:.1f} GB more than before"}
    if not target.files:
        return outcome, finding
    left = sorted(path.name for path in (room / "temporary").iterdir())
    if finding is None and left:
        outcome, finding = "broken", {"what": "left behind", "told": f"temporary files: {', '.join(left)}"}
    _clear(room / "temporary")
    _clear(folder)
    folder.rmdir()
    return outcome, finding


def _complaint(error: FlowveilError) -> dict[str, str] | None:
    """Return what is wrong with an error that was raised on purpose."""
    for text in (error.message, error.hint):
        if not isinstance(text, str) or not text.strip():
            return {"what": f"{_place(error)} says nothing", "told": repr((error.message, error.hint))}
        if any((letter < " " and letter != "\n") or "\x7f" <= letter < "\xa0" for letter in text):
            return {"what": f"{_place(error)} holds control characters", "told": repr((error.message, error.hint))}
    return None


def _place(error: BaseException) -> str:
    """Return the kind of an error and the last lines of flowveil, or of a recount here, that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/flowveil/" in frame.filename] or list(frames)
    return f"{type(error).__name__} in {Path(own[-1].filename).name}:{own[-1].name}"


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
            _clear(path)
            path.rmdir()
        else:
            path.unlink()


if __name__ == "__main__":
    main()
