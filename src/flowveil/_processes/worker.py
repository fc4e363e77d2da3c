"""A helper on another core: reads packed parts from stdin, writes packed results to stdout.

When the process that asked for help is gone, stdin ends, and so does the helper, in the middle of a part.
"""

from __future__ import annotations

import os
import signal
import sys
from queue import SimpleQueue
from threading import Thread

from flowveil._processes.core_count import one_core
from flowveil._processes.packing import pack, receive, send, unpack


def main() -> None:
    """Do parts until stdin ends. The first message holds the function and what parts share."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked, which ends this one
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(messages,), daemon=True).start()
    with os.fdopen(os.dup(1), "wb") as answers, one_core():
        os.dup2(2, 1)  # what a library prints must not get among the answers
        function, shared = unpack(messages.get())
        send(b"ready", answers)
        while True:
            parts = unpack(messages.get(), shared)
            send(pack([function(part) for part in parts]), answers)


def _listen(messages: SimpleQueue[bytes]) -> None:
    try:
        while True:
            messages.put(receive(sys.stdin.buffer))
    except EOFError:
        os._exit(0)


if __name__ == "__main__":
    main()
