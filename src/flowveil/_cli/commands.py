"""Runs a command and turns every error into `error:` and `hint:` with the right exit code."""

from __future__ import annotations

import os
import traceback
import warnings
from typing import Any

import typer

from flowveil._cli import (
    advise,
    anonymize,
    compare,
    demo,
    describe,
    doctor,
    evaluate,
    export,
    frontier,
    layouts,
    methods,
    path_frontier,
    query,
    reconstruct,
    register,
    report,
    risk,
    sample,
    serve,
    trajectories,
    trips,
    verify,
)
from flowveil._cli.entry import show_version
from flowveil._errors import FlowveilError, FlowveilWarning

app = typer.Typer(
    name="flowveil",
    help="Publish mobility data safely: flows in which every traveler hides in a crowd.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("anonymize")(anonymize.anonymize)
app.command("trips")(trips.trips)
app.command("verify")(verify.verify)
app.command("evaluate")(evaluate.evaluate)
app.command("frontier")(frontier.frontier)
app.command("compare")(compare.compare)
app.command("reconstruct")(reconstruct.reconstruct)
app.command("methods")(methods.methods)
app.command("layouts")(layouts.layouts)
app.command("describe")(describe.describe)
app.command("doctor")(doctor.doctor)
app.command("query")(query.query)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("register")(register.register)
app.command("sample")(sample.sample)
app.command("risk")(risk.risk)
app.command("advise")(advise.advise)
app.command("serve")(serve.serve)
trajectories.app.command("frontier")(path_frontier.frontier)
app.add_typer(trajectories.app)

# What typer raises on a bad command line: some versions take the class from click, others bring it with them.
_BAD_USAGE: Any = typer.BadParameter.__mro__[2]  # Any: of one of two modules
_INTERRUPTED = 130  # what shells expect after Ctrl-C


def _show_version(wanted: bool) -> None:
    if wanted:
        show_version()
        raise typer.Exit


@app.callback()
def _options(
    _version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Publish mobility data safely: flows in which every traveler hides in a crowd."""


def run(arguments: list[str]) -> int:  # noqa: PLR0911  one return for each kind of end
    """Run the command line and return its exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FlowveilWarning)  # commands tell them as notes
            command = typer.main.get_command(app)
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
