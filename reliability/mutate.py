"""Mutation testing: whether a test finds each of many small mistakes in what keeps the promise.

    python -m reliability mutate                    # 5 mutants of every file, and the table of rooms
    python -m reliability mutate --most 20 --file _verify/count.py --seed 7
    python -m reliability mutate --table            # only the table, from what was tried

One process imports flowveil and all tests once. For each mutant it forks: the child puts the code of the mutated
functions in the place of theirs, in the very function objects that others have imported, and runs the tests that touch
the line, the quickest first, up to the first that fails. Of a compiled loop and of those that call it, the plain
functions run in their place: what is compiled and kept on disk would be the program without the mistake. Tests marked
slow run as well, but for those that take more than --longest seconds of processor time. Mistakes
outside of functions need a program of their own. Programs that tests start find the mutated file, too, in a folder of
links beside the unchanged ones. What was tried is kept in `.reliability`, by a hash of the function and the mistake.

Not mutmut, which leaves out functions with decorators (here compiled loops and properties), nor cosmic-ray, which
starts Python and imports everything anew for each mutant: some seconds each.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import json
import os
import random
import signal
import tempfile
import time
import tomllib
import types
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol
from numba.core.dispatcher import Dispatcher

from reliability.mutation.mutants import Mutant, mutants_of, mutated
from reliability.mutation.rooms import ROOMS
from reliability.mutation.running import (
    CRASH,
    ENDS,
    HOUSE,
    KILLED,
    LEAST_SECONDS,
    PATIENCE,
    ROOT,
    SURVIVED,
    TIMEOUT,
    UNTOUCHED,
    calls,
    codes_in,
    in_child,
    in_program,
    lay_over,
    run_plainly,
)
from reliability.mutation.tracing import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = ROOT / ".reliability" / "mutants.jsonl"
TOUCHED = ROOT / ".reliability" / "touched"
EQUIVALENT = Path(__file__).parent / "mutation" / "equivalent.toml"

QUICK_SECONDS = 0.25  # of tests that run loops in plain Python, which takes a hundred times as long
QUIET = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "--no-summary")


def main() -> None:
    """Try mutants, and print the table of rooms."""
    options = _options()
    files = {name: room for room in ROOMS for name in room.files(HOUSE) if _is_asked(name, options.file)}
    if not options.table:
        RESULTS.parent.mkdir(exist_ok=True)
        tests = sorted({test for room in set(files.values()) for test in room.tests(ROOT)})
        server = Server(files, options)
        with tempfile.TemporaryDirectory() as folder:
            pytest.main([*QUIET, f"--basetemp={folder}/tests", *tests], plugins=[server])
    print(table())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reliability mutate", description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=5, help="mutants of a file, drawn at random")
    parser.add_argument("--file", action="append", help="e.g. _problem/cube.py, or a room: _problem")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=8, help="of tests that a mutant has to survive")
    parser.add_argument("--longest", type=float, default=4, help="of a test, while it is seen which lines it runs")
    parser.add_argument("--again", action="store_true", help="only those that survived, with the tests as they are now")
    parser.add_argument("--until", help="e.g. 21:30: start no mutant after that time of day")
    parser.add_argument("--all", action="store_true", help="print those that are killed, too")
    parser.add_argument("--table", action="store_true", help="try nothing: only the table")
    return parser.parse_args()


def _is_asked(name: str, asked: list[str] | None) -> bool:
    return asked is None or any(name == file or name.startswith(f"{file}/") for file in asked)


class Server:
    """Has all tests collected and all modules imported, and forks for each file of tests and each mutant."""

    def __init__(self, files: dict[str, Any], options: argparse.Namespace) -> None:
        self.files, self.options = files, options
        self.all = [name for room in ROOMS for name in room.files(HOUSE)]  # whose lines are seen
        self.tried = read_results()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Let Hypothesis draw the same in every run, keep no examples and make none smaller."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", derandomize=True, database=None, deadline=None, phases=phases)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find what each test touches, then try the mutants."""
        if session.testsfailed:
            raise SystemExit("some tests cannot be collected")
        self.items = {item.nodeid: item for item in session.items}
        _prepare(session)
        self.functions = _functions(self.all)
        self.loops = [thing for thing in gc.get_objects() if issubclass(type(thing), Dispatcher)]
        gc.freeze()
        self.seconds, self.touching = self._measure(session.items)
        todo = []
        for name in self.files:
            mutants = mutants_of(HOUSE / name, name)
            draw = random.Random(f"{self.options.seed} {name}")
            chosen = mutants if self.options.again else draw.sample(mutants, min(self.options.most, len(mutants)))
            todo += [mutant for mutant in chosen if self._is_asked(mutant)]
        random.Random(self.options.seed).shuffle(todo)
        print(f"{len(self.items):,} tests, {len(todo):,} mutants to try in {len(self.files)} files", flush=True)
        for number, mutant in enumerate(todo, 1):
            if self.options.until and time.strftime("%H:%M") >= self.options.until:
                break
            result = self._try(mutant)
            with RESULTS.open("a") as file:
                file.write(json.dumps(result) + "\n")
            if result["result"] in (SURVIVED, UNTOUCHED) or self.options.all:
                print(f"{number}/{len(todo)} {told(result)}", flush=True)
        return True

    def _is_asked(self, mutant: Mutant) -> bool:
        before = self.tried.get(mutant.key)
        if self.options.again:
            return before is not None and before["result"] in (SURVIVED, UNTOUCHED)
        return before is None

    def _measure(self, items: list[pytest.Item]) -> tuple[dict[str, float], dict[tuple[str, int], list[str]]]:
        """Return the seconds of each test, and by line the tests that touch it; known ones are read from files."""
        TOUCHED.mkdir(exist_ok=True)
        code = hashlib.sha256(b"".join((HOUSE / name).read_bytes() for name in self.all)).hexdigest()
        by_file = defaultdict(list)
        for item in items:
            by_file[item.path].append(item)
        seconds, touching = {}, defaultdict(list)
        for path, group in by_file.items():
            text = f"{code} {self.options.longest} {path.read_text()}"
            known = TOUCHED / f"{path.stem}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
            if not known.exists():
                for old in TOUCHED.glob(f"{path.stem}-*.json"):
                    old.unlink()
                in_child(partial(Tracer(self.all, self.options.longest).follow, group, known), 1800)
            if not known.exists():
                raise SystemExit(f"{path.name} ends the process")
            for test, (spent, lines) in json.loads(known.read_text()).items():
                if lines is None:
                    print(f"{spent}: {test}", flush=True)
                    continue
                seconds[test] = spent
                for name, numbers in lines.items():
                    for number in numbers:
                        touching[name, number].append(test)
        return seconds, touching

    def _try(self, mutant: Mutant) -> dict[str, Any]:
        """Run the tests that touch a mutant; return what came of it."""
        tree, before, after = mutated(HOUSE / mutant.file, mutant)
        start = time.perf_counter()
        codes = self._changed(tree, mutant.file)
        loops = self._concerned(codes)
        tests = self._tests_of(mutant, loops)
        result = {
            **mutant._asdict(),
            "before": before,
            "after": after,
            "tests": len(tests),
            "test": None,
            "result": UNTOUCHED,
        }
        if tests:
            with tempfile.TemporaryDirectory() as folder:
                lay_over(Path(folder), mutant.file, ast.unparse(tree))
                if mutant.function and codes:
                    end, said = self._run_here(folder, codes, loops, tests)
                else:
                    end, said = in_program(folder, tests, sum(self.seconds[test] for test in tests))
            result |= {"result": end, "test": said}
        return result | {"seconds": round(time.perf_counter() - start, 2)}

    def _run_here(self, folder: str, codes: list[Any], loops: list[Any], tests: list[str]) -> tuple[str, str | None]:
        """Run tests in a fork; return how it ended and at which test.

        Loops in plain Python take long: a test that takes too long with the loops as they are says nothing.
        """
        while tests:
            status, said = in_child(partial(self._run, folder, codes, loops, tests), 240)
            if status == 0:
                break
            end = ENDS.get(status, CRASH)
            if end != TIMEOUT or not loops or said is None:
                return end, said
            if in_child(partial(self._run, folder, [], loops, [said]), 240)[0] == 0:
                return end, said
            tests = tests[tests.index(said) + 1 :]
        return SURVIVED, None

    def _changed(self, tree: ast.Module, name: str) -> list[tuple[types.FunctionType, types.CodeType]]:
        """Return the functions that a mutated file changes, with their new code."""
        return [
            (function, code)
            for code in codes_in(compile(tree, str(HOUSE / name), "exec"))
            for function in self.functions.get((name, code.co_qualname, code.co_firstlineno), ())
            if function.__code__ != code and function.__code__.co_freevars == code.co_freevars
        ]

    def _concerned(self, codes: list[tuple[types.FunctionType, types.CodeType]]) -> list[Any]:
        """Return the compiled loops that are made of changed functions, and those that call them."""
        functions = {id(function) for function, _ in codes}
        found = [loop for loop in self.loops if id(loop.py_func) in functions]
        for loop in found:
            found += [other for other in self.loops if other not in found and calls(other.py_func, [loop])]
        return found

    def _tests_of(self, mutant: Mutant, loops: list[Any]) -> list[str]:
        """Return the tests that touch the line of a mutant, the quickest first, no more than may take the time."""
        lines = (
            [(mutant.file, mutant.line)]
            if mutant.function
            else [place for place in self.touching if place[0] == mutant.file]
        )
        if loops:  # no line is seen of what is compiled, but those that call it
            lines += self._lines_that_call(loops)
        tests = {test for place in lines for test in self.touching.get(place, ())}
        # Tests of one file share what they prepare: those that take about as long are run together.
        order = sorted(tests, key=self._turn)
        if loops:
            order = [test for test in order if self.seconds[test] < QUICK_SECONDS] or order[:2]
        most = self.options.seconds * (1 if mutant.function else 0.5)  # a program of its own has more to do
        chosen, spent = [], 0.0
        for test in order:
            spent += self.seconds[test]
            if chosen and spent > most:
                break
            chosen.append(test)
        return chosen

    def _lines_that_call(self, loops: list[Any]) -> set[tuple[str, int]]:
        """Return the lines of functions that name one of some loops."""
        lines = set()
        for (file, _, _), functions in self.functions.items():
            for function in functions:
                if calls(function, loops):
                    codes = codes_in(function.__code__)
                    lines |= {(file, line) for code in codes for *_, line in code.co_lines() if line}
        return lines

    def _turn(self, test: str) -> tuple[int, str, float]:
        seconds = self.seconds[test]
        return int(seconds * 10).bit_length(), test.partition("::")[0], seconds

    def _run(
        self, folder: str, codes: list[Any], loops: list[Any], tests: list[str], tell: Callable[[str], None]
    ) -> int:
        """Run tests on changed functions up to the first that fails; return whether one did."""
        os.environ["PYTHONPATH"] = folder
        for function, code in codes:
            function.__code__ = code
        if loops:
            run_plainly(loops)
        items = [self.items[test] for test in tests]
        for item, following in zip(items, [*items[1:], None], strict=True):
            tell(item.nodeid)
            allowed = LEAST_SECONDS + PATIENCE * self.seconds[item.nodeid]
            signal.setitimer(signal.ITIMER_PROF, allowed)
            signal.alarm(int(60 + 20 * allowed))  # asleep forever
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return 1
        return 0


def _prepare(session: pytest.Session) -> None:
    """Do once what all children need: the trips of the city, and what numba loads when it first compiles."""
    import numpy as np
    from numba import njit

    njit(lambda numbers: np.argsort(numbers).sum() + len(numbers))(np.arange(3))
    factory = session.config._tmp_path_factory
    for name in ("city_trips", "city_zone_trips"):
        for fixture in session._fixturemanager.getfixturedefs(name, session) or ():
            fixture.cached_result = fixture.func(factory), None, None
    gc.collect()


def _functions(files: list[str]) -> dict[tuple[str, str, int], list[types.FunctionType]]:
    """Return all functions of some files, by file, name and line."""
    name = {str(HOUSE / file): file for file in files}
    found = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType and (file := name.get(thing.__code__.co_filename)):
            found[file, thing.__code__.co_qualname, thing.__code__.co_firstlineno].append(thing)
    return found


def read_results() -> dict[str, dict[str, Any]]:
    """Return what was found of each mutant, the latest."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {result["key"]: result for result in map(json.loads, lines)}


def told(result: dict[str, Any]) -> str:
    """Return a mutant in a line."""
    return "{result}: {file}:{line} {function} ({what}) {before}  ->  {after}   [{tests} tests, {seconds} s]".format(
        **result
    )


def explained() -> dict[tuple[str, str, str, str], str]:
    """Return why some mutants are no mistakes."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["file"], entry["function"], entry["before"], entry["after"]): entry["why"] for entry in entries}


def table() -> str:
    """Return what was tried of each room, of the code as it is now, as a table of Markdown."""
    tried, reasons = read_results(), explained()
    rows = [
        "| room | files | mutants tried | killed | of these by timeout or crash | equivalent | survived | score |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    whole: Counter[str] = Counter()
    left = []
    for room in ROOMS:
        count: Counter[str] = Counter()
        for name in set(room.files(HOUSE)) & {result["file"] for result in tried.values()}:
            found = [tried[mutant.key] for mutant in mutants_of(HOUSE / name, name) if mutant.key in tried]
            count["files"] += bool(found)
            for result in found:
                place = (name, result["function"], result["before"], result["after"])
                end = result["result"]
                if end in (SURVIVED, UNTOUCHED):
                    end = "equivalent" if place in reasons else SURVIVED
                    left += [told(result)] if end == SURVIVED else []
                count[end] += 1
        rows.append(_row(room.name, count))
        whole += count
    return "\n".join([*sorted(left), "", *rows, _row("all", whole)])


def _row(name: str, count: Counter[str]) -> str:
    killed = count[KILLED] + count[TIMEOUT] + count[CRASH]
    counted = killed + count[SURVIVED]
    score = f"{killed / counted:.1%}" if counted else ""
    figures = (
        count["files"],
        counted + count["equivalent"],
        killed,
        count[TIMEOUT] + count[CRASH],
        count["equivalent"],
        count[SURVIVED],
    )
    return f"| {name} | " + " | ".join(f"{figure:,}" for figure in figures) + f" | {score} |"
