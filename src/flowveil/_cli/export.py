"""flowveil export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.terminal import count, note
from flowveil._export import FORMATS
from flowveil._folder import Kind, find_kind, find_release


def export(
    folder: options.ReleaseFolder,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="File or folder to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an export that is already there.")] = False,
) -> None:
    """Write a release in a format of other tools."""
    exported = fv.export(folder, to, output, overwrite=overwrite)
    if exported.left_out:
        note(
            f"{exported.left_out:,} flows were left out: an end of theirs has no place on the map, which {to} asks for"
        )
    what = "sample" if find_kind(find_release(folder)) in {Kind.TRAJECTORIES, Kind.SYNTHETIC} else "flow"
    typer.echo(f"wrote {count(exported.flows, what)} to {exported.path}")
