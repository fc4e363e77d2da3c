"""The web app when much comes at once, or nothing for long: what it keeps, whom it leaves, and what is left behind."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import httpx
import pytest

from flowveil._app import connections
from flowveil._app.jobs import DONE, Job
from tests.test_app import TOKEN, TRIPS, App
from tests.waiting import wait_for

HEAD = f"Host: 127.0.0.1:{{}}\r\nAuthorization: Bearer {TOKEN}\r\n"


@pytest.fixture
def app(tmp_path):
    """Return an app of its own."""
    made = App(tmp_path / "private")
    yield made
    made.close()


def send(app, first, more=""):
    """Open a connection and begin a request."""
    connection = socket.create_connection(("127.0.0.1", app.port))
    connection.sendall(f"{first} HTTP/1.1\r\n{HEAD.format(app.port)}{more}\r\n".encode() if first else b"")
    return connection


def is_closed(connection):
    """Whether the server has closed a connection."""
    connection.setblocking(False)  # noqa: FBT003  the name of the standard library
    try:
        return connection.recv(1 << 16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def folders(app):
    """Return the folders of uploads."""
    return list((app.folder / "files").iterdir())


def test_uploads_on_their_way_count(app):
    """No more files are taken than may be kept, however many come at once; what is broken off leaves room."""
    waiting = [send(app, "PUT /api/upload?name=trips.csv", "Content-Length: 1000\r\n") for _ in range(20)]
    wait_for(lambda: len(folders(app)) == 20)

    refused = app.upload(TRIPS)
    for connection in waiting:
        connection.close()
    wait_for(lambda: not folders(app))

    assert refused.status_code == 400
    assert "too many files" in refused.json()["error"]
    assert app.upload(TRIPS).status_code == 200


class Clock:
    """The clock of connections, which goes as tests say: a busy machine makes nobody wait too long."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        """Return the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still; connections are looked at often."""
    made = Clock()
    monkeypatch.setattr(connections, "time", made)
    monkeypatch.setattr(connections, "_LOOK", 0.05)
    return made


def seen(app):
    """Return the one connection of the server, once it has been looked at."""
    (connection,) = wait_for(lambda: set(app.server.server_state.connections))
    wait_for(lambda: connection._owed is not None)
    return connection


@pytest.mark.parametrize(
    ("first", "more", "body"),
    [
        ("", "", b""),  # says nothing
        ("PUT /api/upload?name=trips.csv", "Content-Length: 1000\r\n", b"start_lon"),  # stops in the middle
        ("GET /assets/app.js", "X: ", b""),  # a head that does not end
    ],
    ids=["silent", "upload", "head"],
)
def test_whoever_keeps_the_server_waiting(app, clock, first, more, body):
    """A client that sends nothing any more is left, and so is what it sent; others are served."""
    with send(app, first, more) as connection:
        connection.sendall(body)
        served = seen(app)
        wait_for(lambda: body == b"" or served._owed == (served.cycle, served._received))

        clock.now += connections.PATIENCE - 1
        assert app.client.get("/api/about").status_code == 200
        assert not is_closed(connection)
        clock.now += 2
        wait_for(lambda: is_closed(connection))

    assert app.client.get("/api/about").status_code == 200
    wait_for(lambda: not folders(app))


def test_whoever_takes_no_answer(app, clock):
    """Answers that nobody takes are dropped."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", app.port))
    request = f"GET /assets/app.js HTTP/1.1\r\n{HEAD.format(app.port)}\r\n".encode()
    connection.sendall(request * 100)
    served = seen(app)
    wait_for(lambda: served._owed == (served.cycle, served.transport.get_write_buffer_size() or None))

    clock.now += connections.PATIENCE + 1
    wait_for(lambda: served not in app.server.server_state.connections)
    connection.close()


def test_a_slow_client_is_served(app, clock):
    """Whoever goes on sending is given time: patience is with silence."""
    with send(app, "PUT /api/upload?name=trips.csv", f"Content-Length: {len(TRIPS)}\r\n") as connection:
        served = seen(app)
        for start in range(0, len(TRIPS), 10):
            clock.now += connections.PATIENCE - 1
            before = served._received
            connection.sendall(TRIPS[start : start + 10])
            wait_for(lambda: served._received > before)  # noqa: B023  called here
            wait_for(lambda: served._owed_since == clock.now)
        answer = connection.recv(1 << 16)

    assert answer.startswith(b"HTTP/1.1 200")


def test_more_connections_than_anyone_needs(app, monkeypatch):
    """What is one too many is closed at once; it does not keep others out for long."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 5)
    with ExitStack() as stack:
        many = [stack.enter_context(send(app, "")) for _ in range(12)]
        wait_for(lambda: sum(is_closed(connection) for connection in many) == 7)

    wait_for(lambda: not app.server.server_state.connections)
    assert app.client.get("/api/about").status_code == 200


@pytest.mark.slow
def test_starting_over_forgets_what_was_counted(app):
    """Start over ends the worker, which remembers trips, and all that it has open."""
    file = app.upload(TRIPS).json()["id"]
    app.wait(app.start(f"columns/{file}"))
    worker = app.jobs._worker

    assert app.client.delete("/api/state").status_code == 200

    assert worker.exit_code is not None
    assert worker._process.stdin.closed
    assert worker._process.stdout.closed
    assert folders(app) == []
    assert [path.name for path in (app.folder / "jobs").iterdir()] == []


def test_a_worker_that_cannot_be_started(app, monkeypatch):
    """Where there is no room for a process the job fails, and the next one is tried again."""
    file = app.upload(TRIPS).json()["id"]

    def no_room(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("flowveil._app.jobs.Worker", no_room)
    jobs = [app.wait(app.start(f"columns/{file}")) for _ in range(2)]

    assert {job["state"] for job in jobs} == {"failed"}
    assert {job["error"] for job in jobs} == {"the work cannot be started: Too many open files"}


def test_what_is_gone(app):
    """A release that goes while it is asked for is an error with a hint, not a crash."""
    app.jobs._jobs["a"] = Job("a", "anonymize", {}, app.folder / "gone", DONE)

    answer = app.client.get("/api/releases/a/zip")

    assert answer.status_code == 400
    assert answer.json()["hint"]


def test_two_start_over_at_once(app):
    """What one request has removed is no error for another."""
    kept = app.upload(TRIPS).json()["id"]
    stored = app.jobs  # the app's own objects are asked, as two threads would
    stored.clear()
    stored.clear()

    with httpx.Client(base_url=app.own, headers={"authorization": f"Bearer {TOKEN}"}) as other:
        assert {client.delete(f"/api/files/{kept}").status_code for client in (app.client, other)} == {200, 400}
    assert app.upload(TRIPS.ljust(15_000_000)).status_code == 200
