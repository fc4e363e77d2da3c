"""Options of methods that add noise, and how `flowveil anonymize` runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flowveil._errors import InputError
from flowveil.cli._options import DemandOptions, TripOptions, with_query
from flowveil.cli._parse import columns as parse_columns
from flowveil.cli._parse import pairs
from flowveil.engine import DUCKDB
from flowveil.matrices import (
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
from flowveil.release import DEFAULT_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil.matrices import Matrix, NoisyRelease


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
    ends: Annotated[str, typer.Option(help="With --epsilon: both, origin or destination (2-D).")] = "both"
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
        given = {"--max-trips-per-person": self.max_trips_per_person, "--cells": self.cells, "--stops": self.stops}
        given["--frames"] = self.frames
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} goes with noise", "give --epsilon E, or leave it out")
        return None

    def release(
        self, name: str, trips: TripOptions, demand: DemandOptions, doing: Callable[[str], None], **others: Any
    ) -> NoisyRelease:
        """Read the trips and add noise; `others` are options that must not have been given."""
        others |= {"weight": trips.weight, "crs": trips.crs, "k_weight": demand.k_weight}
        others |= {"engine": None if trips.engine == DUCKDB else trips.engine, "master": trips.master}
        others["zones"] = None if name == LAPLACE else trips.zones
        others["preset"] = demand.preset
        if demand.k is not None:
            raise InputError("-k does not go with noise", "leave it out: --epsilon protects in place of crowds")
        for option, value in others.items():
            if value is not None:
                raise InputError(f"--{option.replace('_', '-')} does not go with noise", "leave it out")
        doing("reading trips")
        matrix = self._matrix(name, trips)
        if trips.strict and matrix.origin.dropped:
            raise InputError("strict: some rows cannot be used", "mend these rows, or filter them with --where")
        doing(f"adding noise with {name}")
        return add_noise(matrix, name, self.epsilon or 0.0, options=pairs(demand.option or [], "--option"))

    def _matrix(self, name: str, trips: TripOptions) -> Matrix:
        if self.frames is not None:
            return self._frame_matrix(name, trips)
        source = trips.read()
        shared: dict[str, Any] = {
            "unit": trips.unit,
            "max_trips_per_person": self.max_trips_per_person,
            "memory": trips.memory,
        }
        if name in TILE_METHODS:
            if self.cells is not None or self.stops is not None or self.ends != "both":
                raise InputError(
                    f"{name} counts flows between areas",
                    "leave out --cells, --stops and --ends, or use daf-entropy",
                )
            shared |= {"zones": trips.zones, "hierarchy": trips.hierarchy}
            return build_tile_matrix(source, trips.bbox, trips.grid, **shared)
        if trips.grid is not None or trips.hierarchy is not None:
            raise InputError(f"{name} lays a grid of its own over the bbox", "give --cells N in place of --grid")
        stops = [] if self.stops is None else [column.strip() for column in self.stops.split(",")]
        cells = DEFAULT_CELLS if self.cells is None else self.cells
        return build_matrix(source, trips.bbox, cells, ends=self.ends, stops=stops, **shared)

    def _frame_matrix(self, name: str, trips: TripOptions) -> Matrix:
        if name in TILE_METHODS or self.stops is not None or trips.unit is not None or trips.grid is not None:
            raise InputError(
                "frames make a grid of many dimensions, of persons named by the samples",
                "give --method daf-entropy; leave out --stops, --grid and --unit (map it: --columns user=COLUMN)",
            )
        return build_frame_matrix(
            with_query(trips.source, trips.query),
            trips.bbox,
            DEFAULT_CELLS if self.cells is None else self.cells,
            frames=self.frames or "",
            max_trips_per_person=self.max_trips_per_person,
            columns=parse_columns(trips.columns),
            where=trips.where,
            memory=trips.memory,
        )


def summary(release: NoisyRelease) -> str:
    """Say what a release with noise holds; nothing of it is private."""
    unit = release.manifest["promise"]["unit"]
    crowd = "one trip" if unit == "trip" else f"one value of {unit}"
    return (
        f"{len(release.boxes):,} boxes with noise, {int(release.boxes.counts.sum()):,} trips in all (noisy)\n"
        f"epsilon = {release.manifest['promise']['epsilon']:g} protects {crowd}\n"
        f"promise: {release.manifest['promise_text']}"
    )
