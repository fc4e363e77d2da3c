"""Connections whose clients keep the server waiting are closed, and there are only so many of them.

Whoever reaches 127.0.0.1 can open connections, without the token. Each takes a file handle, and so does the worker.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

MOST_CONNECTIONS = 200  # a browser has six
PATIENCE = 30.0  # seconds for a request to come, for more of an upload, and for more of an answer to be taken
_LOOK = 2.0  # seconds between two looks


class Connection(H11Protocol):
    """HTTP with a client that is given only so much time."""

    _next_look: asyncio.TimerHandle | None = None
    _received = 0  # bytes
    _owed: object = None
    _owed_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to watch; close what is one too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._look()

    def data_received(self, data: bytes) -> None:
        """Count what comes."""
        self._received += len(data)
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no more."""
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        owed, now = self._what_is_owed(), time.monotonic()
        if owed is None or owed != self._owed:
            self._owed, self._owed_since = owed, now
        elif now > self._owed_since + PATIENCE:
            self.transport.abort()
            return
        self._next_look = self.loop.call_later(_LOOK, self._look)

    def _what_is_owed(self) -> object:
        """Return what changes when the client does its part; None while the server has to do something.

        Its part is a whole request, to send more of a body that is wanted, and to take an answer. What it sends of
        a body after the answer is none of these.
        """
        unsent = self.transport.get_write_buffer_size()
        if unsent or self.cycle is None or self.cycle.response_complete:
            return self.cycle, unsent
        return (self.cycle, self._received) if self.cycle.more_body and not self.flow.read_paused else None
