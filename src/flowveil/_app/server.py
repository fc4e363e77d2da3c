"""The server: loopback only, and nothing stays when it ends."""

from __future__ import annotations

import secrets
import signal
import socket
import webbrowser
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from flowveil._app.api import make_api
from flowveil._app.connections import MOST_CONNECTIONS, Connection
from flowveil._app.guard import Guard
from flowveil._errors import InputError
from flowveil._folder import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fastapi import FastAPI

HOST = "127.0.0.1"
_TOKEN_BYTES = 32
_PATIENCE = 2  # seconds that open requests have at the end


def serve(port: int, upload_limit: int, *, open_browser: bool, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; `tell` hears the address once the server listens.

    port: 0 for any that is free. upload_limit: bytes of all files that are kept at a time.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with _ended_by_signals() as caught, _listening(port) as listener, scratch_folder() as folder:
        number = listener.getsockname()[1]
        address = f"http://{HOST}:{number}/#token={token}"
        api, jobs = make_api(folder, upload_limit)
        try:
            tell(address)
            if open_browser:
                webbrowser.open(_page_that_leads_to(address, folder).as_uri())
            _Server(configure(api, token, number), caught).run(sockets=[listener])
        finally:
            jobs.close()
        if caught:
            raise SystemExit(_code(caught[0]))


class _Server(uvicorn.Server):
    """Ends as well where a signal was caught and its exception lost: Python drops those raised in callbacks."""

    def __init__(self, config: uvicorn.Config, caught: list[int]) -> None:
        super().__init__(config)
        self.caught = caught

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end, which is asked several times a second."""
        return bool(self.caught) or await super().on_tick(counter)


def configure(api: FastAPI, token: str, port: int) -> uvicorn.Config:
    """Return how the app is served: behind its guard, to clients that are given only so much time."""
    return uvicorn.Config(
        Guard(api, token, port),
        http=Connection,
        backlog=MOST_CONNECTIONS,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_PATIENCE,
    )


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()  # so that whoever reads the address can connect at once
        except (OSError, OverflowError) as error:
            raise InputError(
                f"port {port} cannot be used: {error}", "choose another with --port, or 0 for any"
            ) from None
        yield listener


@contextmanager
def _ended_by_signals() -> Iterator[list[int]]:
    """Turn signals that would end the process into an exception, so that everything is cleaned up; yield them."""
    caught: list[int] = []

    def leave(number: int, _: object) -> None:
        caught.append(number)
        raise SystemExit(_code(number))

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), leave) for name in names}
    try:
        yield caught
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _code(number: int) -> int:
    return 128 + number


def _page_that_leads_to(address: str, folder: Path) -> Path:
    """Write a page that only its owner can read: an address on a command line shows its token to everyone."""
    page = folder / "open.html"
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">', encoding="utf-8")
    return page
