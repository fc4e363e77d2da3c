"""flowveil serve."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from flowveil._errors import InputError
from flowveil._options import parse_memory


def serve(
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes any that is free.")] = 0,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser (on a terminal).")
    ] = True,
    upload_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Most bytes of all files given to the page.")
    ] = "2GB",
) -> None:
    """Open the web app: drop a file, choose, look, download. Only this computer can reach it."""
    limit = parse_memory(upload_limit, "--upload-limit")
    try:
        from flowveil import _app as app  # noqa: PLC0415  needs the extra
    except ModuleNotFoundError as error:
        raise InputError(f"the web app needs the package {error.name}", "pip install 'flowveil[web]'") from None
    with suppress(KeyboardInterrupt):  # the usual way to end it
        app.serve(port, limit, open_browser=open_browser and sys.stdout.isatty(), tell=_tell)


def _tell(address: str) -> None:
    typer.echo(
        f"flowveil is at {address}\n"
        "Only this computer can reach it, and only with this address: keep it to yourself.\n"
        "Ctrl-C ends it and deletes all files that were given to it."
    )
    sys.stdout.flush()
