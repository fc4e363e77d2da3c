"""Running cells: some at a time, each input read once, and those that are done already left out."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from operator import attrgetter
from threading import Event
from typing import TYPE_CHECKING

from flowveil._study.limits import Limits, limited_rows, rows_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import Future

    from flowveil._processes import Message
    from flowveil._study.cells import Cell, Row


@dataclass
class Progress:
    """How far a study is."""

    calls: int  # in all
    done: int = 0
    before: int = 0  # of these, done by an earlier run
    start: float = field(default_factory=time.monotonic)
    running: dict[str, tuple[float, int | None]] = field(default_factory=dict)  # by cell: seconds, bytes in use

    @property
    def seconds_left(self) -> float | None:
        """About how long the rest will take; None until something was done."""
        new = self.done - self.before
        return (time.monotonic() - self.start) / new * (self.calls - self.done) if new else None


class Stopped(Exception):  # noqa: N818  not an error: it ends the threads of a run that was interrupted
    """The run was interrupted."""


@dataclass
class Run:
    """How cells are run. `apart` is false where tests want no processes."""

    load: Callable[[str], Message]  # reads an input
    keep: Callable[[Cell, list[Row]], None]  # takes the rows of a cell that is done
    limits: Limits = field(default_factory=Limits)
    processes: int = 1
    apart: bool = True
    watch: Callable[[Progress], None] | None = None

    def run(self, cells: Sequence[Cell], progress: Progress) -> None:
        """Run cells, those of one input after the other: no two inputs are held at once."""
        if not cells:
            return
        stop = Event()
        pool = ThreadPoolExecutor(self.processes)
        try:
            for name, some in itertools.groupby(sorted(cells, key=attrgetter("data")), attrgetter("data")):
                data = self.load(name)
                self._wait((pool.submit(self._cell, data, cell, progress, stop) for cell in some), progress)
        except BaseException:
            stop.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def _wait(self, work: Iterable[Future[None]], progress: Progress) -> None:
        left = set(work)
        while left:
            done, left = wait(left, 0.1, FIRST_COMPLETED)
            for one in done:
                one.result()
            self._tell(progress)

    def _tell(self, progress: Progress) -> None:
        if self.watch is not None:
            self.watch(progress)

    def _cell(self, data: Message, cell: Cell, progress: Progress, stop: Event) -> None:
        def look(seconds: float, memory: int | None) -> None:
            if stop.is_set():
                raise Stopped
            progress.running[cell.name] = (seconds, memory)

        rows: list[Row] = []
        made = limited_rows(data, cell, self.limits, look) if self.apart else rows_here(data, cell)
        for some in made:
            rows += some
            progress.done += 1
        progress.running.pop(cell.name, None)
        self.keep(cell, rows)
