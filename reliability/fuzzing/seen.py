"""Which lines of flowveil an execution came to that no other did: inputs that get somewhere are changed again."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flowveil

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

_HOUSE = str(Path(flowveil.__file__).parent)
_QUIET = 100  # runs of a function without news after which it is watched in one of so many runs only


class Seen:
    """The lines that were run so far."""

    def __init__(self) -> None:
        self.news = 0  # lines that were run for the first time since this was set to 0
        self._lines: dict[CodeType, set[int]] = {}
        self._quiet: dict[CodeType, int] = {}

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch while the block runs."""
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _argument: object) -> Any:  # Any: a tracer returns a tracer
        code = frame.f_code
        if not code.co_filename.startswith(_HOUSE):
            return None
        quiet = self._quiet[code] = self._quiet.get(code, 0) + 1
        if quiet > _QUIET and quiet % _QUIET:
            return None
        known = self._lines.setdefault(code, set())

        def line(frame: FrameType, event: str, _argument: object) -> Any:  # Any: as above
            if event == "line" and frame.f_lineno not in known:
                known.add(frame.f_lineno)
                self.news += 1
                self._quiet[code] = 0
            return line

        return line
