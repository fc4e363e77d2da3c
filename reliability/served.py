"""flowveil serve as users start it, and what it takes of the machine."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from typing import NamedTuple

import httpx
import psutil

_MEGABYTE = 1e6
_ENOUGH = 600  # seconds that anything may take
_IDLE = 8  # seconds: more than the server keeps a connection on which nothing happens


class Usage(NamedTuple):
    """What the server and its worker take."""

    server: float  # MB of memory
    worker: float  # MB of all processes that it started
    handles: int  # open files and sockets of the server
    processes: int  # that it started
    files: int  # in its temporary folder
    size: float  # MB of these

    def __str__(self) -> str:
        return (
            f"server {self.server:.0f} MB, worker {self.worker:.0f} MB, {self.handles} handles, "
            f"{self.processes} processes, {self.files} files of {self.size:.1f} MB"
        )


class Served:
    """The process, and a client with the token."""

    def __init__(self, temporary, *options):
        """Start it in a temporary folder that is empty."""
        self.temporary = temporary
        command = [sys.executable, "-m", "flowveil", "serve", "--no-open", *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(temporary)},
        )
        line = self.process.stdout.readline()
        self.address, self.token = re.search(r"(http://\S+/)#token=(\S+)", line).groups()
        self.port = int(self.address.rstrip("/").rpartition(":")[2])
        self._seen = psutil.Process(self.process.pid)
        with self.client() as client:
            self.formats = client.get("/api/about").json()["formats"]

    def client(self):
        """Return a client of its own."""
        return httpx.Client(base_url=self.address, headers={"authorization": f"Bearer {self.token}"}, timeout=_ENOUGH)

    def connect(self):
        """Return a bare connection."""
        connection = socket.socket()
        connection.settimeout(_ENOUGH)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)  # it takes little at a time
        connection.connect(("127.0.0.1", self.port))
        return connection

    def head(self, method, path, *more):
        """Return the head of a request with the token, as bytes."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {self.token}"]
        return "\r\n".join([*lines, *more, "", ""]).encode()

    def usage(self):
        """Return what it takes now."""
        below = self._seen.children(recursive=True)
        worker = 0
        for process in below:
            with suppress(psutil.Error):
                worker += process.memory_info().rss
        paths = [path for path in self.temporary.rglob("*") if path.is_file()]
        sizes = []
        for path in paths:
            with suppress(OSError):
                sizes.append(path.stat().st_size)
        return Usage(
            self._seen.memory_info().rss / _MEGABYTE,
            worker / _MEGABYTE,
            self._seen.num_fds(),
            len(below),
            len(sizes),
            sum(sizes) / _MEGABYTE,
        )

    def processor_seconds(self):
        """Return the processor time of the server and of all that it started."""
        times = self._seen.cpu_times()
        total = times.user + times.system + times.children_user + times.children_system
        for process in self._seen.children(recursive=True):
            with suppress(psutil.Error):
                total += sum(process.cpu_times()[:2])
        return total

    def start_over(self):
        """Remove all files and releases; return what is taken once connections have closed."""
        with self.client() as client:
            assert client.delete("/api/state").status_code == 200
        time.sleep(_IDLE)
        return self.usage()

    def end(self):
        """End it as Ctrl-C does; return its exit code, what it complained of and what it left behind."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=_ENOUGH)
        return self.process.returncode, said, [str(path) for path in self.temporary.rglob("*")]
