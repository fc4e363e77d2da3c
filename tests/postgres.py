"""A real PostgreSQL server on loopback, in a folder of its own, for the time of some tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import QUIET

PASSWORD = "hush: not-a-secret 100%"  # noqa: S105  of a server that lives for seconds
USER = "postgres"  # the server refuses to run as root


def programs():
    """Return the folder of the newest server that is installed, or skip."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if not found:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return found[-1].parent


def free_port():
    """Return a port of loopback that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def server():
    """Start a server and return the URL of its database, with a password that needs quoting."""
    binaries, port = programs(), free_port()
    as_user = ["runuser", "-u", USER, "--"] if os.getuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    data = folder / "data"

    def run(program, *arguments):
        command = [*as_user, str(binaries / program), "-D", str(data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)

    try:
        (folder / "password").write_text(PASSWORD)
        if as_user:
            shutil.chown(folder, USER)
            shutil.chown(folder / "password", USER)
        run("initdb", "--auth=scram-sha-256", "--username=owner", f"--pwfile={folder / 'password'}", "--no-sync")
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": folder, "fsync": "off"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        run(
            "pg_ctl",
            "--wait",
            f"--timeout={QUIET}",
            f"--log={folder / 'log'}",
            f"--options=-p {port} {options}",
            "start",
        )
        try:
            yield f"postgresql://owner:{quoted(PASSWORD)}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "--mode=immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def quoted(text):
    """Return text as URLs write it."""
    from urllib.parse import quote

    return quote(text, safe="")
