"""Options of methods that add noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from flowveil._cli.options import NUMBER, WHOLE, number
from flowveil._matrices import DEFAULT_CELLS
from flowveil._options import parse_bound, parse_cells, parse_epsilon

if TYPE_CHECKING:
    from flowveil._matrices import NoisyRelease


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
        int | None,
        number(
            parse=parse_bound,
            metavar=WHOLE,
            help="With --epsilon and --unit: trips of a person that count, drawn at random.",
        ),
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
    unit = release.manifest["promise"]["unit"]
    crowd = "one trip" if unit == "trip" else f"one value of {unit}"
    return (
        f"{len(release.counts):,} boxes with noise, {int(release.counts.sum()):,} trips in all (noisy)\n"
        f"epsilon = {release.manifest['promise']['epsilon']:g} protects {crowd}\n"
        f"promise: {release.manifest['promise_text']}"
    )
