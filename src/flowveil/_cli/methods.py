"""flowveil methods."""

from __future__ import annotations

import typer

import flowveil as fv
from flowveil._cli import options
from flowveil._cli.terminal import print_json


def methods(as_json: options.AsJson = False) -> None:
    """List every method: what it promises, its options, whether it can steer suppression."""
    if as_json:
        print_json([_as_dict(method) for method in fv.methods()])
        return
    for method in fv.methods():
        steers = "keeps suppression within a budget" if method.steers else "reports suppression, cannot steer it"
        if method.promise == "differential privacy":
            steers = "leaves out nothing"
        typer.echo(f"{method.name}: {method.summary}")
        typer.echo(f"    {method.promise}; {method.family}; {steers}")
        for option in method.options:
            typer.echo(f"    --option {option.name}={_text(option.default)}  {option.meaning}")


def _as_dict(method: fv.Method) -> dict[str, object]:
    return {
        "name": method.name,
        "family": method.family,
        "promise": method.promise,
        "summary": method.summary,
        "steers_suppression": method.steers,
        "options": [
            {"name": option.name, "default": option.default, "meaning": option.meaning} for option in method.options
        ],
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
