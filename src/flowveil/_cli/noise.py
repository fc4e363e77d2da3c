"""Options of methods that add noise, and how `flowveil anonymize` runs them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flowveil._cli.options import DemandOptions, TripOptions, with_query
from flowveil._cli.parse import columns as parse_columns
from flowveil._cli.parse import pairs
from flowveil._errors import InputError
from flowveil._matrices import (
    DEFAULT_CELLS,
    LAPLACE,
    MOSAIC,
    TILE_METHODS,
    add_noise,
    adds_noise,
    build_frame_matrix,
    build_matrix,
    build_tile_matrix,
)
from flowveil._release import DEFAULT_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flowveil._matrices import Matrix, NoisyRelease

# Options that a release with noise uses; any other is refused, since it would be ignored.
_ALWAYS = {"source", "query", "columns", "where", "bbox", "memory", "method", "option", "epsilon"}
_ALWAYS |= {"max_trips_per_person"}
_ON_CELLS = {"cells", "ends", "stops", "unit"}
_USED = {
    MOSAIC: {"grid", "hierarchy", "unit"},
    LAPLACE: {"grid", "hierarchy", "unit", "zones"},
    "--frames": {"cells", "frames", "timezone"},
}
_SOMETIMES = _ON_CELLS.union(*_USED.values())
_ONE_MATRIX = "leave it out: a release with noise has one matrix on areas of its own"
_GRID = "leave it out, or give --method daf-entropy, which lays a grid of --cells over the bbox"
_HINTS = {
    "k": "leave it out: --epsilon protects in place of crowds",
    "strict": "leave it out: success would depend on one row; the private audit file counts rows that were dropped",
    "elsewhere": "leave it out: a release with noise leaves nothing out to report",
    "unit": "leave it out: samples name their persons; map it with --columns user=COLUMN",
    "grid": "leave it out: give --cells N in its place, or --method noisy-mosaic",
    "hierarchy": "leave it out: give --cells N in its place, or --method noisy-mosaic",
    "zones": "leave it out, or give --method laplace",
    "timezone": "leave it out: only --frames looks at a clock",
    **dict.fromkeys(("time", "time_hierarchy", "by", "totals", "beside", "areas_from"), _ONE_MATRIX),
    **dict.fromkeys(("cells", "ends", "stops", "frames"), _GRID),
}


@dataclass(frozen=True)
class NoiseOptions:
    """What is asked of a method that adds noise."""

    epsilon: Annotated[
        float | None, typer.Option(help="Differential privacy: how much one person or trip may change; less is safer.")
    ] = None
    max_trips_per_person: Annotated[
        int | None, typer.Option(help="With --epsilon and --unit: trips of a person that count, drawn at random.")
    ] = None
    cells: Annotated[
        int | None, typer.Option(help=f"With --epsilon: cells along each side of the bbox (default {DEFAULT_CELLS}).")
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

    def method(self, demand: DemandOptions) -> str | None:
        """Return the method that adds noise, None if noise was not asked for."""
        if adds_noise(demand.method):
            if self.epsilon is None:
                raise InputError(f"{demand.method} needs a budget", "give --epsilon E, e.g. --epsilon 1")
            return demand.method
        if self.epsilon is not None:
            if demand.method != DEFAULT_METHOD:
                raise InputError(f"{demand.method} adds no noise", "leave out --epsilon, or see flowveil methods")
            return MOSAIC
        for option in _given(self):
            raise InputError(f"{_spelled(option)} goes with noise", "give --epsilon E, or leave it out")
        return None

    def release(
        self, name: str, trips: TripOptions, demand: DemandOptions, doing: Callable[[str], None], **others: Any
    ) -> NoisyRelease:
        """Read the trips and add noise; `others` are options that must not have been given."""
        more = [option for option, value in others.items() if value is not None and value is not False]
        self._check(name, [*_given(trips, demand, self), *more])
        doing("reading trips")
        matrix = self._matrix(name, trips)
        doing(f"adding noise with {name}")
        return add_noise(matrix, name, self.epsilon or 0.0, options=pairs(demand.option or [], "--option"))

    def _check(self, name: str, given: list[str]) -> None:
        """Raise on the first option that would change nothing, or that lets one row decide more than its count."""
        if self.frames is not None and name in TILE_METHODS:
            raise InputError(f"--frames does not go with {name}", "give --method daf-entropy, or another with --cells")
        kind = name if self.frames is None else "--frames"
        used = _ALWAYS | _USED.get(kind, _ON_CELLS)
        for option in given:
            if option not in used:
                raise InputError(
                    f"{_spelled(option)} does not go with {kind if option in _SOMETIMES else 'noise'}",
                    _HINTS.get(option, "leave it out"),
                )

    def _matrix(self, name: str, trips: TripOptions) -> Matrix:
        shared: dict[str, Any] = {"max_trips_per_person": self.max_trips_per_person, "memory": trips.memory}
        cells = DEFAULT_CELLS if self.cells is None else self.cells
        if self.frames is not None:
            return build_frame_matrix(
                with_query(trips.source, trips.query),
                trips.bbox,
                cells,
                frames=self.frames,
                timezone=trips.timezone or "UTC",
                columns=parse_columns(trips.columns),
                where=trips.where,
                **shared,
            )
        source = trips.read()
        shared["unit"] = trips.unit
        if name in TILE_METHODS:
            return build_tile_matrix(
                source, trips.bbox, trips.grid, zones=trips.zones, hierarchy=trips.hierarchy, **shared
            )
        stops = [] if self.stops is None else [column.strip() for column in self.stops.split(",")]
        return build_matrix(source, trips.bbox, cells, ends=self.ends or "both", stops=stops, **shared)


def _given(*groups: Any) -> Iterator[str]:
    """Yield the names of the options that were given: those that are not as they are by default."""
    for group in groups:
        yield from (item.name for item in fields(group) if getattr(group, item.name) != item.default)


def _spelled(option: str) -> str:
    return f"-{option}" if len(option) == 1 else f"--{option.replace('_', '-')}"


def summary(release: NoisyRelease) -> str:
    """Say what a release with noise holds; nothing of it is private."""
    unit = release.manifest["promise"]["unit"]
    crowd = "one trip" if unit == "trip" else f"one value of {unit}"
    return (
        f"{len(release.counts):,} boxes with noise, {int(release.counts.sum()):,} trips in all (noisy)\n"
        f"epsilon = {release.manifest['promise']['epsilon']:g} protects {crowd}\n"
        f"promise: {release.manifest['promise_text']}"
    )
