"""The process that does the work, so that it can be killed: reads tasks from stdin, tells its answers on stdout.

One JSON object a line each way. When the server is gone, stdin ends, and so does the worker, in the middle of a task.
"""

from __future__ import annotations

import json
import os
import sys
from queue import SimpleQueue
from threading import Thread
from typing import Any

from flowveil._app.tasks import Tasks
from flowveil._errors import FlowveilError

_SHARE_OF_MEMORY = 0.9  # a file that unfolds beyond all bounds must not take the computer with it


def main() -> None:
    """Do tasks until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what a library prints must not get among the answers
    _limit_memory()
    orders: SimpleQueue[str] = SimpleQueue()
    Thread(target=_listen, args=(orders,), daemon=True).start()
    tasks = Tasks()

    def tell(**content: Any) -> None:
        answers.write(json.dumps(content, allow_nan=False) + "\n")

    try:
        while True:
            tell(**_answer(tasks, json.loads(orders.get()), lambda stage: tell(stage=stage)))
    except BrokenPipeError:  # the server is gone
        os._exit(0)


def _answer(tasks: Tasks, order: dict[str, Any], tell: Any) -> dict[str, Any]:
    try:
        return {"result": tasks.run(order["kind"], order["arguments"], tell)}
    except FlowveilError as error:
        message, hint = error.with_keywords()
        return {"error": message, "hint": hint}
    except MemoryError:  # also Arrow's
        return {"error": "there is not enough memory", "hint": "use a coarser grid, or a machine with more"}
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  the page shows it, the server goes on
        return {"error": f"{type(error).__name__}: {error}", "hint": "this is a bug: please report it"}


def _listen(orders: SimpleQueue[str]) -> None:
    for line in sys.stdin:
        orders.put(line)
    os._exit(0)


def _limit_memory() -> None:
    try:
        import resource  # noqa: PLC0415  not on Windows

        most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MEMORY)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError, ValueError):
        return


if __name__ == "__main__":
    main()
