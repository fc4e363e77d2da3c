"""flowveil layouts."""

from __future__ import annotations

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.terminal import print_json


def layouts(as_json: options.AsJson = False) -> None:
    """List the layouts of files that are known by their columns."""
    if as_json:
        print_json(
            [
                {
                    "name": layout.name,
                    "title": layout.title,
                    "known_by": list(layout.known_by),
                    "columns": layout.columns,
                    "computed": {column.name: list(column.columns) for column in layout.derived},
                    "unit": layout.unit,
                    "notes": list(layout.notes),
                }
                for layout in fv.layouts()
            ]
        )
        return
    for layout in fv.layouts():
        typer.echo(f"{layout.name}: {layout.title}")
        if layout.known_by:
            typer.echo(f"    known by {', '.join(layout.known_by)}")
        computed = {column.name: ", ".join(column.columns) for column in layout.derived}
        told = [
            f"{meaning} from {computed[name]}" if name in computed else f"{meaning} = {name}"
            for meaning, name in layout.columns.items()
        ]
        typer.echo(f"    {', '.join(told)}")
        if layout.unit is not None:
            typer.echo(f"    --unit {layout.unit} counts vehicles")
        for note in layout.notes:
            typer.echo(f"    {note}")
