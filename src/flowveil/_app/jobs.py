"""Jobs: one after the other in a worker process that can be killed at any time."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from flowveil._errors import InputError
from flowveil._processes import python_command

if TYPE_CHECKING:
    from pathlib import Path

WAITING, RUNNING, DONE, FAILED, CANCELED = "waiting", "running", "done", "failed", "canceled"
_MOST_WAITING = 20
_MOST_KEPT = 10  # jobs of a kind that are remembered; with the oldest goes what it wrote


@dataclass(eq=False)
class Job:
    """One task and what became of it."""

    id: str
    kind: str
    arguments: dict[str, Any]
    folder: Path  # for what it writes
    state: str = WAITING
    stage: str = "waiting"
    result: dict[str, Any] | None = None
    error: str | None = None
    hint: str | None = None
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None

    def about(self) -> dict[str, Any]:
        """Return what the page may know."""
        names = ("id", "kind", "state", "stage", "result", "error", "hint")
        return {name: getattr(self, name) for name in names} | {
            "seconds": round((self.ended or time.monotonic()) - self.began, 3)
        }


class Jobs:
    """A queue with one worker. Canceling a job that runs kills the worker; the next job gets a new one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scratch = folder / "scratch"  # where the worker puts temporary files
        self._jobs: dict[str, Job] = {}
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._worker: subprocess.Popen[str] | None = None
        self._lock = Lock()
        self._closed = False
        folder.mkdir(mode=0o700)
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def __getitem__(self, key: str) -> Job:
        if key not in self._jobs:
            raise InputError("there is no such job", "start it again")
        return self._jobs[key]

    def submit(self, kind: str, arguments: dict[str, Any]) -> Job:
        """Put a job at the end of the queue; a folder of None becomes the job's own."""
        name = secrets.token_hex(8)
        folder = self._folder / name
        if arguments.get("folder", "") is None:
            arguments = arguments | {"folder": str(folder)}
        job = Job(name, kind, arguments, folder)
        with self._lock:
            if sum(other.state == WAITING for other in self._jobs.values()) >= _MOST_WAITING:
                raise InputError("too many jobs are waiting", "wait, or cancel some")
            self._forget(kind)
            folder.mkdir(mode=0o700)
            self._jobs[name] = job
        self._queue.put(job)
        return job

    def cancel(self, key: str) -> Job:
        """End a job, whatever it is doing, and remove what it wrote."""
        job = self[key]
        with self._lock:
            if job.state == RUNNING:
                self._end(job, CANCELED)
                self._kill()
            elif job.state == WAITING:
                self._end(job, CANCELED)
        return job

    def close(self) -> None:
        """Kill the worker and end."""
        with self._lock:
            self._closed = True
            for job in self._jobs.values():
                if job.state in (WAITING, RUNNING):
                    self._end(job, CANCELED)
            worker = self._worker
            self._kill()
        self._queue.put(None)
        self._thread.join(timeout=5)
        _close(worker)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            with self._lock:
                if job.state != WAITING or self._closed:
                    continue
                job.state, job.began = RUNNING, time.monotonic()
                worker = self._start()
            self._follow(job, worker)
            if worker.poll() is not None:
                _close(worker)

    def _follow(self, job: Job, worker: subprocess.Popen[str]) -> None:
        """Give a job to the worker and listen until it is done, failed or killed."""
        answer: dict[str, Any] = {}
        with suppress(OSError, ValueError):  # the worker was killed
            if worker.stdin is not None and worker.stdout is not None:
                worker.stdin.write(json.dumps({"kind": job.kind, "arguments": job.arguments}) + "\n")
                worker.stdin.flush()
                for line in worker.stdout:
                    answer = json.loads(line)
                    if "stage" not in answer:
                        break
                    job.stage = answer["stage"]
        with self._lock:
            if job.state != RUNNING:  # canceled
                shutil.rmtree(job.folder, ignore_errors=True)
                return
            if "result" in answer:
                job.result = answer["result"]
                self._end(job, DONE)
                return
            job.error = answer.get("error", "the process that did the work has died")
            job.hint = answer.get("hint", "perhaps there was not enough memory: use a coarser grid")
            self._end(job, FAILED)
            if "error" not in answer:
                self._kill()

    def _end(self, job: Job, state: str) -> None:
        job.state, job.stage, job.ended = state, state, time.monotonic()
        if state != DONE:
            shutil.rmtree(job.folder, ignore_errors=True)

    def _start(self) -> subprocess.Popen[str]:
        if self._worker is None or self._worker.poll() is not None:
            self._scratch.mkdir(mode=0o700, exist_ok=True)
            self._worker = subprocess.Popen(  # noqa: S603  our own module
                python_command("flowveil._app.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=os.environ | {"TMPDIR": str(self._scratch), "TEMP": str(self._scratch)},
                start_new_session=True,  # so that it can be killed with all its children, and Ctrl-C is the server's
            )
        return self._worker

    def _kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        with suppress(OSError):
            os.killpg(worker.pid, signal.SIGKILL) if hasattr(os, "killpg") else worker.kill()
        worker.wait()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _forget(self, kind: str) -> None:
        """Forget the oldest jobs that have ended."""
        ended = [job for job in self._jobs.values() if job.kind == kind and job.ended is not None]
        for job in ended[:-_MOST_KEPT]:
            shutil.rmtree(job.folder, ignore_errors=True)
            del self._jobs[job.id]


def _close(worker: subprocess.Popen[str] | None) -> None:
    """Close the pipes of a worker that is dead."""
    for pipe in (worker.stdin, worker.stdout) if worker is not None else ():
        if pipe is not None:
            with suppress(OSError):  # what was not sent is lost
                pipe.close()
