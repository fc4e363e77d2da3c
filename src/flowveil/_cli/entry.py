"""Where the command line begins: commands, and all that they import, are loaded only if one is to run."""

from __future__ import annotations

import sys

import flowveil


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 the promise cannot be kept or does not hold, 2 bad input or usage."""
    given = sys.argv[1:] if arguments is None else arguments
    if given == ["--version"]:
        show_version()
        sys.exit(0)
    from flowveil._cli.commands import run  # noqa: PLC0415  takes more than a second

    sys.exit(run(given))


def show_version() -> None:
    """Print the version."""
    sys.stdout.write(f"flowveil {flowveil.__version__}\n")
