"""Figures of what a release lost, on the terminal: one way for each kind of release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from flowveil._cli.terminal import note, show
from flowveil._folder import Kind
from flowveil._measure import MEANINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json

_ERRORS = {"mre": "mre %", "median": "median %", "mae": "mean error", "zero": "always 0 %", "empty": "empty"}


def print_figures(kind: Kind, figures: Mapping[str, Json]) -> None:
    """Print what `flowveil.evaluate` returns for a kind of release."""
    if kind is Kind.FLOWS:
        _print_metrics(figures)
    elif kind is Kind.TRAJECTORIES:
        print_nested(figures)
    else:
        print_errors(figures)


def _print_metrics(figures: Mapping[str, Json]) -> None:
    if figures["suppressed"] < 0:
        note("more trips are published than INPUT has: these are not the trips of the release, and figures mislead")
    population = figures["population"]
    _print_meanings({name: value for name, value in figures.items() if name != "population" or value is None})
    if population is not None:
        typer.echo("\nThe same on the people that trips stand for:")
        _print_meanings(population)
    typer.echo("These figures are computed from the true trips: keep them private.", err=True)


def _print_meanings(figures: Mapping[str, Json]) -> None:
    for name, value in figures.items():
        text = (
            ", ".join(f"{part} {show(number)}" for part, number in value.items())
            if isinstance(value, dict)
            else show(value)
        )
        typer.echo(f"{name:18} {text:40} {MEANINGS[name]}".rstrip())


def print_errors(rows: Mapping[str, Json]) -> None:
    """Print the errors of queries, a line for each workload."""
    typer.echo(f"{'queries':14}" + "".join(f"{name:>16}" for name in _ERRORS.values()))
    for queries, figures in rows.items():
        typer.echo(f"{queries:14}" + "".join(f"{show(figures[name]):>16}" for name in _ERRORS))
    typer.echo("These figures are computed from the true trips: keep them private.", err=True)


def print_nested(figures: Mapping[str, object]) -> None:
    """Print figures, and figures of figures with an indent; `units` says what they are counted in, by name or path."""
    units = figures.get("units", {})
    plain = {name: value for name, value in figures.items() if name != "units"}
    for line in _lines(_named(plain, units if isinstance(units, dict) else {})):
        typer.echo(line)
    typer.echo("These figures are computed from the true samples: keep them private.", err=True)


def _named(figures: Mapping[str, object], units: Mapping[str, str], path: str = "") -> dict[str, object]:
    """Return figures whose names have their units behind them."""
    named: dict[str, object] = {}
    for name, value in figures.items():
        unit = units.get(f"{path}{name}", units.get(name) if path else None)
        inner = _named(value, units, f"{path}{name}.") if isinstance(value, dict) else value
        named[name if unit is None else f"{name} ({unit})"] = inner
    return named


def _lines(figures: Mapping[str, object], indent: str = "") -> list[str]:
    lines = []
    for name, value in figures.items():
        if isinstance(value, dict) and any(isinstance(part, dict) for part in value.values()):
            lines += [f"{indent}{name}", *_lines(value, indent + "  ")]
        elif isinstance(value, dict):
            shown = "  ".join(f"{part} {show(number)}" for part, number in value.items())
            lines.append(f"{indent}{name:<{22 - len(indent)}} {shown}")
        else:
            lines.append(f"{indent}{name:<{22 - len(indent)}} {show(value)}")
    return lines
