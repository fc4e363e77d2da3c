"""Jobs: one after the other in a worker process that can be killed at any time."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

from flowveil._app.tasks import do_task
from flowveil._app.words import error_in_words
from flowveil._errors import FlowveilError, InputError
from flowveil._processes import Worker

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._folder import Json

WAITING, RUNNING, DONE, FAILED, CANCELED = "waiting", "running", "done", "failed", "canceled"
_MOST_WAITING = 20
_MOST_KEPT = 10  # jobs of a kind that are remembered; with the oldest goes what it wrote


@dataclass(eq=False)
class Job:
    """One task and what became of it."""

    id: str
    kind: str
    arguments: dict[str, Json]
    folder: Path  # for what it writes
    state: str = WAITING
    stage: str = "waiting"
    result: dict[str, Json] | None = None
    error: str | None = None
    hint: str | None = None
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None

    def hear(self, stage: str) -> None:
        """Keep what is being done."""
        self.stage = stage

    def about(self) -> dict[str, Json]:
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
        self._worker: Worker | None = None
        self._lock = Lock()
        self._closed = False
        folder.mkdir(mode=0o700)
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def __getitem__(self, key: str) -> Job:
        job = self._jobs.get(key)
        if job is None:
            raise InputError("there is no such job", "start it again")
        return job

    def submit(self, kind: str, arguments: dict[str, Json]) -> Job:
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

    def clear(self) -> None:
        """End and forget all jobs, with what they wrote and what the worker remembers of them."""
        with self._lock:
            worker, idle = self._worker, True
            for job in self._jobs.values():
                idle = idle and job.state != RUNNING
                self._end(job, CANCELED)
            self._kill()
            self._jobs.clear()
        if worker is not None and idle:  # else whoever listens to it closes it
            worker.close()

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
        if worker is not None:
            worker.close()

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            with self._lock:
                if job.state != WAITING or self._closed:
                    continue
                job.state, job.began = RUNNING, time.monotonic()
                try:
                    worker = self._start()
                except OSError as error:  # no room for a process or its files
                    job.error, job.hint = f"the work cannot be started: {error.strerror}", "end other programs"
                    self._end(job, FAILED)
                    continue
            self._follow(job, worker)
            if worker.exit_code is not None:
                worker.close()

    def _follow(self, job: Job, worker: Worker) -> None:
        """Give a job to the worker and listen until it is done, failed or killed."""
        result = error = hint = None
        try:
            result = worker.call((job.kind, job.arguments), job.hear)
        except FlowveilError as failure:
            error, hint = error_in_words(failure)
        except EOFError:
            error = "the process that did the work has died"
            hint = "perhaps there was not enough memory: use a coarser grid"
        with self._lock:
            if job.state != RUNNING:  # canceled
                shutil.rmtree(job.folder, ignore_errors=True)
                return
            job.result, job.error, job.hint = result, error, hint
            self._end(job, DONE if error is None else FAILED)
            if worker.exit_code is not None:
                self._kill()

    def _end(self, job: Job, state: str) -> None:
        job.state, job.stage, job.ended = state, state, time.monotonic()
        if state != DONE:
            shutil.rmtree(job.folder, ignore_errors=True)

    def _start(self) -> Worker:
        if self._worker is None or self._worker.exit_code is not None:
            self._scratch.mkdir(mode=0o700, exist_ok=True)
            scratch = {"TMPDIR": str(self._scratch), "TEMP": str(self._scratch)}
            self._worker = Worker(do_task, env=os.environ | scratch, apart=True)
        return self._worker

    def _kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _forget(self, kind: str) -> None:
        """Forget the oldest jobs that have ended."""
        ended = [job for job in self._jobs.values() if job.kind == kind and job.ended is not None]
        for job in ended[:-_MOST_KEPT]:
            shutil.rmtree(job.folder, ignore_errors=True)
            del self._jobs[job.id]
