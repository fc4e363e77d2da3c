"""Options of methods that add noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from flowveil._cli.options import NUMBER, WHOLE, number
from flowveil._folder import CELLS
from flowveil._matrices import DEFAULT_CELLS
from flowveil._options import parse_bound, parse_cells, parse_epsilon

if TYPE_CHECKING:
    from flowveil._matrices import NoisyRelease


def _bound(text: str) -> str:
    """Return a bound as it was typed, if it is one."""
    parse_bound(text)
    return text


@dataclass(frozen=True)
class NoiseOptions:
    """What is asked of a method that adds noise."""

    epsilon: Annotated[
        float | None,
        number(
            parse=parse_epsilon,
            metavar=NUMBER,
            help="Differential privacy: how much one person or trip may change; less is safer.",
        ),
    ] = None
    max_trips_per_person: Annotated[
        str | None,
        number(
            parse=_bound,
            metavar="N|auto",
            help="With --epsilon and --unit: trips of a person that count, drawn at random; auto chooses privately.",
        ),
    ] = None
    protect: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="With --epsilon: trip, person, person-day, person-week, person-month, or window:N steps in a row.",
        ),
    ] = None
    persons: Annotated[
        bool, typer.Option("--persons", help="With --epsilon and --unit: count persons beside trips, too.")
    ] = False
    groups: Annotated[
        list[str] | None,
        typer.Option(metavar="COL=VALUE,...", help="With --epsilon: the values of a column of --by; once for each."),
    ] = None
    cells: Annotated[
        int | None,
        number(
            parse=parse_cells,
            metavar=WHOLE,
            help=f"With --epsilon: cells along each side of the bbox (default {DEFAULT_CELLS}).",
        ),
    ] = None
    ends: Annotated[str | None, typer.Option(help="With --epsilon: both (default), origin or destination (2-D).")] = (
        None
    )
    stops: Annotated[
        str | None, typer.Option(metavar="LON,LAT,...", help="With --epsilon: columns of stops on the way.")
    ] = None
    frames: Annotated[
        str | None,
        typer.Option(metavar="NAME=H-H,...", help="With --epsilon: INPUT is samples; where persons are in each frame."),
    ] = None


def summary(release: NoisyRelease) -> str:
    """Say what a release with noise holds; nothing of it is private."""
    promise = release.manifest["promise"]
    bound = (
        ""
        if promise["max_trips_per_person"] is None
        else f"; trips that count of each: {promise['max_trips_per_person']:,}"
    )
    counted = "boxes" if CELLS in release.tables else "flows"
    return (
        f"{len(release.counts):,} {counted} with noise, {int(release.counts.sum()):,} trips in all (noisy)\n"
        f"epsilon = {promise['epsilon']:g}: {promise['neighbours']}{bound}\n"
        f"promise: {release.manifest['promise_text']}"
    )
