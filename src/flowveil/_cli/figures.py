"""Figures of what a release lost, on the terminal: one way for each kind of release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from flowveil._cli.terminal import note, show
from flowveil._folder import Kind
from flowveil._measure import MEANINGS, METRIC_COLUMNS
from flowveil._questions import answer_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._folder import Json

_ERRORS = {"mre": "mre %", "median": "median %", "mae": "mean error", "zero": "always 0 %", "empty": "empty"}


def print_figures(kind: Kind, figures: Mapping[str, Json]) -> None:
    """Print what `flowveil.evaluate` returns for a kind of release."""
    if kind is Kind.FLOWS:
        _print_metrics(figures)
    elif kind is Kind.TRAJECTORIES:
        print_nested(figures)
    elif kind is Kind.SYNTHETIC:
        print_measures(figures)
    else:
        print_errors(figures)


def _print_metrics(figures: Mapping[str, Json]) -> None:
    if figures["suppressed"] < 0:
        note("more trips are published than INPUT has: these are not the trips of the release, and figures mislead")
    population, each = figures["population"], figures.get("each")
    apart = {"each"} if population is None else {"each", "population"}
    _print_meanings({name: value for name, value in figures.items() if name not in apart})
    if population is not None:
        typer.echo("\nThe same on the people that trips stand for:")
        _print_meanings(population)
    if each is not None:
        typer.echo("\nEach step of time and group by itself:")
        _print_rows(each)
    typer.echo("These figures are computed from the true trips: keep them private.", err=True)


def print_answers(figures: Mapping[str, Json]) -> None:
    """Print what people ask of trips, before and after."""
    for question, answer in answer_rows(figures):
        typer.echo(f"{question:44} {answer}")
    typer.echo("These figures are computed from the true trips: keep them private.", err=True)


def _print_rows(rows: Sequence[Mapping[str, Json]]) -> None:
    """Print a table of the columns that some row has, with units in their headings."""
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    headings = [METRIC_COLUMNS[name].heading if name in METRIC_COLUMNS else name for name in names]
    cells = [headings, *([show(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    for line in cells:
        typer.echo("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _print_meanings(figures: Mapping[str, Json]) -> None:
    for name, value in figures.items():
        typer.echo(f"{name:18} {_in_a_line(value):40} {MEANINGS[name]}".rstrip())


def _in_a_line(value: Json) -> str:
    """Return a figure, or figures by name, which may hold figures by name themselves."""
    if not isinstance(value, dict):
        return show(value)
    return ", ".join(
        f"{part} ({_in_a_line(inner)})" if isinstance(inner, dict) else f"{part} {show(inner)}"
        for part, inner in value.items()
    )


def print_errors(rows: Mapping[str, Json]) -> None:
    """Print the errors of queries, a line for each workload."""
    typer.echo(f"{'queries':14}" + "".join(f"{name:>16}" for name in _ERRORS.values()))
    for queries, figures in rows.items():
        typer.echo(f"{queries:14}" + "".join(f"{show(figures[name]):>16}" for name in _ERRORS))
    typer.echo("These figures are computed from the true trips: keep them private.", err=True)


def print_measures(figures: Mapping[str, Json]) -> None:
    """Print how far synthetic trajectories are from true ones."""
    for name in ("users", "synthetic_users", "samples", "synthetic_samples"):
        typer.echo(f"{name.replace('_', ' '):18} {figures[name]:>10,}")
    for name, value in figures["measures"].items():
        typer.echo(f"{name:18} {value:10.3f}  {figures['meanings'][name]}")
    for name, value in figures["nearest"].items():
        typer.echo(f"{name:18} {value:10.3f}  {figures['meanings'][name]}")
    typer.echo("These figures are computed from the true samples: keep them private.", err=True)


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
