"""Which lines of what keeps the promise a test executes, and what it costs."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from reliability.mutation.running import HOUSE

if TYPE_CHECKING:
    import types
    from pathlib import Path


QUIET = 30  # calls of a function without a new line, after which one of so many is followed


class TooLong(BaseException):
    """A test takes longer than it may."""


def _give_up(_: int, frame: types.FrameType | None) -> None:
    while frame is not None:
        if "/numba/" in frame.f_code.co_filename:  # what is half compiled would end the process later: in a moment
            signal.setitimer(signal.ITIMER_PROF, 0.1)
            return
        frame = frame.f_back
    raise TooLong


class Tracer:
    """Sees which lines of some files a test executes, and what it costs."""

    def __init__(self, files: list[str], longest: float) -> None:
        self.name = {str(HOUSE / name): name for name in files}
        self.longest = longest  # seconds of a test
        self.seen: set[tuple[str, int]] = set()
        self.quiet: dict[types.CodeType, int] = {}  # calls of a function since it last came to a new line

    def follow(self, items: list[pytest.Item], path: Path, _: object) -> int:
        """Run the tests of a file, and write for each that passes its seconds and lines, for others why they do not."""
        shared: dict[Any, tuple[float, set[tuple[str, int]]]] = {}
        found = {}

        class Fixtures:
            @pytest.hookimpl(wrapper=True)
            def pytest_fixture_setup(hook, fixturedef: Any):  # noqa: N805
                if fixturedef.scope == "function":
                    return (yield)
                outside, start, self.seen, self.quiet = self.seen, time.process_time(), set(), {}
                try:
                    return (yield)
                finally:
                    shared[fixturedef] = time.process_time() - start, self.seen
                    self.seen, self.quiet = outside | self.seen, {}

            @pytest.hookimpl(wrapper=True)
            def pytest_runtest_call(hook):  # noqa: N805  what tests share is made before
                signal.setitimer(signal.ITIMER_PROF, self.longest)
                try:
                    return (yield)
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)

        signal.signal(signal.SIGPROF, _give_up)
        items[0].config.pluginmanager.register(Fixtures())
        threading.settrace(self._call)
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.seen, self.quiet, start = set(), {}, time.process_time()
            sys.settrace(self._call)
            reports = runtestprotocol(item, log=False, nextitem=following)
            sys.settrace(None)
            spent, lines = time.process_time() - start, set(self.seen)
            for name in item.fixturenames:
                for fixture in item._fixtureinfo.name2fixturedefs.get(name, ()):
                    lines |= shared.get(fixture, (0, set()))[1]
            if any(report.failed for report in reports):
                found[item.nodeid] = ["fails as it is" if spent < self.longest else "takes long", None]
            elif not any(report.skipped for report in reports):
                by_file = defaultdict(list)
                for name, line in sorted(lines):
                    by_file[name].append(line)
                found[item.nodeid] = [round(spent, 3), by_file]
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(found))
        unfinished.rename(path)
        return 0

    def _call(self, frame: types.FrameType, *_: Any) -> Any:
        name = self.name.get(frame.f_code.co_filename)
        if name is None:
            return None
        self.seen.add((name, frame.f_lineno))
        code = frame.f_code
        quiet = self.quiet[code] = self.quiet.get(code, 0) + 1
        if quiet > QUIET and quiet % QUIET:  # else most of the time goes into lines that were seen
            return None

        def line(frame: types.FrameType, event: str, _: Any) -> Any:
            if event == "line" and (name, frame.f_lineno) not in self.seen:
                self.seen.add((name, frame.f_lineno))
                self.quiet[code] = 0
            return line

        return line
