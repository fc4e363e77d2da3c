"""What stands between the browser and the app: only this page, on this computer, with the token."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

from flowveil._report import allowed_sources

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_JSON = 100_000  # bytes of a request that is not an upload
UPLOAD = "/api/upload"
_HINT = "open the address that flowveil serve printed"

_MAP, _MAP_STYLE = allowed_sources()  # frames with maps are under the policy of the page that holds them

HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src 'self' {_MAP}; style-src 'self' {_MAP_STYLE}; "
        "img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Wraps an ASGI app.

    Another site may make a browser send requests here (cross-site request forgery), or point a name of its own at
    127.0.0.1 (DNS rebinding). So Host and Origin must be this server's own, and every call of the API must carry the
    token, which other sites cannot know. The page itself holds no secret.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token.encode()
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or pass it on, and put the headers on every answer."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_guarded)
            return
        status, text, hint = refusal
        body = json.dumps({"error": text, "hint": hint}).encode()
        headers = [(b"content-type", b"application/json")]  # closed at once, it would be lost while a body comes
        await send_guarded({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name, []).append(value)
        hosts = {f"{name}:{self._port}".encode() for name in ("127.0.0.1", "localhost")}
        host = given.get(b"host", [])
        if len(host) != 1 or host[0] not in hosts:
            return 421, "this server answers on 127.0.0.1 only", _HINT
        sites = given.get(b"sec-fetch-site", []) if scope["path"].startswith("/api/") else []
        foreign = any(site not in {b"same-origin", b"none"} for site in sites)
        if foreign or any(origin != b"http://" + host[0] for origin in given.get(b"origin", [])):
            return 403, "another site sent this request", _HINT
        return self._refusal_of_call(scope["path"], given) if scope["path"].startswith("/api/") else None

    def _refusal_of_call(self, path: str, given: dict[bytes, list[bytes]]) -> tuple[int, str, str] | None:
        bearer = given.get(b"authorization", [b""])
        if len(bearer) != 1 or not secrets.compare_digest(bearer[0], b"Bearer " + self._token):
            return 401, "the token is missing or wrong", _HINT
        if path != UPLOAD and not _is_small(given):
            return 413, "the request is too large", "settings are short"
        return None


def _is_small(given: dict[bytes, list[bytes]]) -> bool:
    """Whether a body is absent or says that it is small; bodies of unknown length are for uploads."""
    if b"transfer-encoding" in given:
        return False
    length = given.get(b"content-length", [b"0"])[0]
    return length.isdigit() and int(length) <= _MOST_JSON
