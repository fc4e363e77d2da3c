"""Runs a command and turns every error into `error:` and `hint:` with the right exit code."""

from __future__ import annotations

import os
import traceback
import warnings
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from flowveil._cli.entry import show_version
from flowveil._errors import FlowveilError, FlowveilWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

# In the order of the help. Each is a module of this room with a function of the same name.
_COMMANDS = (
    "demo",
    "anonymize",
    "trips",
    "verify",
    "evaluate",
    "frontier",
    "compare",
    "study",
    "reconstruct",
    "methods",
    "layouts",
    "describe",
    "doctor",
    "query",
    "report",
    "export",
    "register",
    "sample",
    "risk",
    "advise",
    "serve",
    "trajectories",  # has commands of its own
)
# What typer raises on a bad command line: some versions take the class from click, others bring it with them.
_BAD_USAGE: Any = typer.BadParameter.__mro__[2]  # Any: of one of two modules
_INTERRUPTED = 130  # what shells expect after Ctrl-C


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


def _options(
    _version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Publish mobility data safely: flows in which every traveler hides in a crowd."""


def find_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the command line with the command that is called, or else with all: each takes long to import."""
    return _build(tuple(name for name in _COMMANDS if name in arguments[:1]) or _COMMANDS)


@cache
def _build(names: tuple[str, ...]) -> typer.Typer:
    """Return the command line with some commands."""
    app = typer.Typer(
        name="flowveil",
        help="Publish mobility data safely: flows in which every traveler hides in a crowd.",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for name in names:
        module = import_module(f"flowveil._cli.{name}")
        if name == "trajectories":
            app.add_typer(module.app)
            module.app.command("frontier")(import_module("flowveil._cli.path_frontier").frontier)
            module.app.command("synthesize")(import_module("flowveil._cli.synthesize").synthesize)
        else:
            app.command(name)(getattr(module, name))
    return app


def run(arguments: list[str]) -> int:  # noqa: PLR0911  one return for each kind of end
    """Run the command line and return its exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FlowveilWarning)  # commands tell them as notes
            command = typer.main.get_command(find_app(arguments))
            code = command.main(args=arguments or ["--help"], prog_name="flowveil", standalone_mode=False)
    except FlowveilError as error:
        return _fail(error.message, error.hint, error.exit_code)
    except _BAD_USAGE as error:
        hint = getattr(error, "hint", "see flowveil --help, or --help after a command")
        return _fail(_once(error.format_message()).rstrip("."), hint, 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", "nothing was written", _INTERRUPTED)
    except BrokenPipeError:
        return 0
    except OSError as error:
        return _fail(
            f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), "check the path and its rights", 2
        )
    except MemoryError:
        return _fail("there is not enough memory", "use a coarser grid, or --memory", 1)
    except Exception as error:  # noqa: BLE001  a user never sees a traceback; a developer asks for it
        if os.environ.get("FLOWVEIL_DEBUG"):
            traceback.print_exc()
        return _fail(
            f"{type(error).__name__}: {error}", "this is a bug: please report it (FLOWVEIL_DEBUG=1 shows where)", 1
        )
    return _end(code) if arguments else 2  # without a command, the help that was shown is an answer to bad usage


def _end(code: object) -> int:
    """Return the exit code of a command that came to its end, or was interrupted: typer turns Ctrl-C into a code."""
    if code == _INTERRUPTED:
        return _fail("interrupted", "nothing was written", _INTERRUPTED)
    return code if isinstance(code, int) else 0


def _once(message: str) -> str:
    """Leave out a suggestion that both Typer and Click have added."""
    before, asks, suggestion = message.partition(" Did you mean ")
    return before + asks + suggestion.split(asks)[0] if asks else message


def _fail(message: str, hint: str, code: int) -> int:
    typer.echo(f"error: {message}", err=True)
    typer.echo(f"hint: {hint}", err=True)
    return code
