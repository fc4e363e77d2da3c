"""What this process and one that works for it write to each other."""

from __future__ import annotations

from typing import IO

# What an answer is: a result, an error, or how far a call is.
DONE, FAILED, TOLD = "done", "failed", "told"
_LENGTH = 8  # bytes before a message that tell how long it is


def send(message: bytes, stream: IO[bytes]) -> None:
    """Write a message to a stream."""
    stream.write(len(message).to_bytes(_LENGTH, "big"))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read a message from a stream; raise EOFError if it ends before that."""
    length = int.from_bytes(_read(stream, _LENGTH), "big")
    return _read(stream, length)


def _read(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content
