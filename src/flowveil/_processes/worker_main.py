"""What a `Worker` runs: it reads packed messages from stdin and writes packed answers to stdout.

The first message holds a function and what later messages share, each later one what to call the function with. An
answer is a pair: DONE with a result, FAILED with the message and hint of an error, or, any number of times before
these, TOLD with what the function tells. When the process that asks is gone, stdin ends, and so does this process, in
the middle of a call.
"""

from __future__ import annotations

import os
import signal
from queue import SimpleQueue
from threading import Thread
from typing import IO, TYPE_CHECKING

from flowveil._errors import FlowveilError
from flowveil._processes.messages import DONE, FAILED, TOLD, receive, send
from flowveil._processes.packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._processes.packing import Message


def main() -> None:
    """Answer messages until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks, which ends this one
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a library reads must not be a message
    os.dup2(2, 1)  # nor what it prints an answer
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(asked, messages), daemon=True).start()
    function: Message = None
    shared: Message = ()

    def load() -> None:
        nonlocal function, shared
        function, shared = unpack(messages.get())

    def call() -> Message:
        return function(unpack(messages.get(), shared), tell)

    def tell(content: Message) -> None:
        _answer(pack((TOLD, content)), answers)

    _answer(_outcome(load), answers)
    while True:
        _answer(_outcome(call), answers)


def _outcome(work: Callable[[], Message]) -> bytes:
    """Return the packed answer that tells what became of some work."""
    try:
        return pack((DONE, work()))
    except FlowveilError as error:
        message, hint = error.message, error.hint
    except MemoryError:  # also Arrow's
        message, hint = "there is not enough memory", "use a coarser grid, or a machine with more"
    except Exception as error:  # noqa: BLE001  the process that asks shows it
        message, hint = f"{type(error).__name__}: {error}", "this is a bug: please report it"
    return pack((FAILED, (message, hint)))


def _answer(message: bytes, answers: IO[bytes]) -> None:
    try:
        send(message, answers)
    except OSError:  # the process that asked is gone
        os._exit(0)


def _listen(asked: IO[bytes], messages: SimpleQueue[bytes]) -> None:
    try:
        while True:
            messages.put(receive(asked))
    except EOFError:
        os._exit(0)


if __name__ == "__main__":
    main()
