"""Processes of our own: Python programs that call a function for us, one call after the other.

All of flowveil's processes are started here, and speak one language (see `worker_main`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Self

from flowveil._errors import FlowveilError
from flowveil._processes.messages import FAILED, TOLD, receive, send
from flowveil._processes.packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from flowveil._processes.packing import Message

    Tell = Callable[[Message], None]

# -P: a shapely.py in the current folder is not part of flowveil.
_COMMAND = ("-P", "-m", "flowveil._processes.worker_main")


class Worker:
    """A process that calls a function for us. It ends when this process does, however that ends.

    function: called with what is asked and with a function that tells how far the call is. It stays in the worker, and
    so does what it keeps between calls. shared: objects that are part of what is asked, sent only once.
    apart: in a session of its own, so that what it starts is killed with it.
    """

    def __init__(
        self,
        function: Callable[[Message, Tell], Message],
        shared: Sequence[object] = (),
        *,
        stderr: int | IO[bytes] | None = None,
        env: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> None:
        self._function, self._shared, self._apart = function, shared, apart
        self._ready = False
        self._process = subprocess.Popen(  # noqa: S603  our own module
            [sys.executable, *_COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=env,
            start_new_session=apart,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """What the process ended with; None while it runs."""
        return self._process.poll()

    def get_ready(self) -> None:
        """Send the function and wait until the worker has it; raise as `call` does."""
        self._ask((self._function, self._shared), ())
        self._answer(None)
        self._ready = True

    def call(self, asked: Message, tell: Tell | None = None) -> Message:
        """Return what the function returns; `tell` hears what it tells until then.

        Whatever the function raises is raised as a FlowveilError; EOFError if the worker has died.
        """
        if not self._ready:
            self.get_ready()
        self._ask(asked, self._shared)
        return self._answer(tell)

    def kill(self) -> None:
        """End the process at once; a call under way in another thread raises EOFError."""
        if self._apart and hasattr(os, "killpg") and self.exit_code is None:
            with suppress(OSError):  # it has just ended
                os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kill the process and close its pipes; no call may be under way."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not sent is lost
                    pipe.close()

    def _ask(self, asked: Message, shared: Sequence[object]) -> None:
        message = pack(asked, shared)
        with self._until_death() as (stdin, _):
            send(message, stdin)

    def _answer(self, tell: Tell | None) -> Message:
        while True:
            with self._until_death() as (_, stdout):
                message = receive(stdout)
            kind, content = unpack(message)
            if kind == FAILED:
                raise FlowveilError(*content)
            if kind != TOLD:
                return content
            if tell is not None:
                tell(content)

    @contextmanager
    def _until_death(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Yield the pipes; raise EOFError, with the process gone, if it is not there to use them."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise EOFError
        try:
            yield stdin, stdout
        except (EOFError, OSError):
            self._process.wait()
            raise EOFError from None
