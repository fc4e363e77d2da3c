"""From trips to the matrix that a method needs, and which options go with noise: none is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from flowveil._engine import ReadingOptions, open_source
from flowveil._errors import InputError
from flowveil._matrices.build import DEFAULT_CELLS, build_matrix, build_tile_matrix
from flowveil._matrices.frames import build_frame_matrix
from flowveil._matrices.methods import LAPLACE, MOSAIC, TILE_METHODS, adds_noise
from flowveil._methods import find_method
from flowveil._options import DescriptionOptions, spelled
from flowveil._release import DEFAULT_METHOD
from flowveil._trips import Trips, read_trips

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flowveil._engine import QuerySource, Readable
    from flowveil._matrices.build import ChooseBound
    from flowveil._matrices.points import Matrix
    from flowveil._places import NamedPlacesLike, ZonesLike
    from flowveil._trips import TripsLike


class CountingOptions(ReadingOptions, total=False):
    """How `add_noise` counts trips: options of `read_trips` and of the function that makes a method's matrix."""

    columns: str | Mapping[str, str] | None
    where: str | None
    query: str | None
    bbox: str | Iterable[float] | None
    memory: str | int | None
    unit: str | None
    max_trips_per_person: int | str | None
    protect: str | None
    persons: bool
    cells: int
    ends: str
    stops: str | Sequence[str]
    frames: str
    timezone: str | None
    time: str | None
    time_hierarchy: str | None
    by: str | Sequence[str]
    groups: Mapping[str, Iterable[str | None]] | Iterable[str]
    grid: str | None
    hierarchy: str | Sequence[str] | None
    zones: ZonesLike
    zone_name: str | None
    places: NamedPlacesLike | None


class NoiseKeywords(CountingOptions, DescriptionOptions, total=False):
    """What `add_noise` takes by name beside the method: how trips are counted, and what is said of the release."""


_FRAMES = "--frames"
_WRITTEN = ("layout", "encoding", "decimal", "time_format", "input_crs", "matrices")
_ALWAYS = {"query", "columns", "where", "bbox", "memory", "max_trips_per_person"}
_ON_CELLS = {"cells", "ends", "stops", "unit", "protect", "timezone", "period", *_WRITTEN}
_ON_TILES = {"grid", "hierarchy", "unit", "places", "zones", "zone_name", "protect", "timezone", "period", *_WRITTEN}
_ON_TILES |= {"time", "by", "groups", "time_hierarchy", "persons"}
_USED = {
    MOSAIC: _ON_TILES,
    LAPLACE: _ON_TILES,
    _FRAMES: {"cells", "frames", "timezone", "period"},
}
_SOMETIMES = _ON_CELLS.union(*_USED.values())
_OF_READING = ("query", "columns", "where", *_WRITTEN)
_LEFT_OUT = "leave it out"
_OWN_AREAS = "leave it out: a release with noise has areas of its own, and counts that add up"
_TRUE_NUMBERS = "leave it out: it is about true numbers, and here all have noise"
_GRID = "leave it out, or give --method daf-entropy, which lays a grid of --cells over the bbox"
_SOMETIMES_HINTS = {
    "unit": "leave it out: samples name their persons; map it with --columns user=COLUMN",
    "grid": "leave it out: give --cells N in its place, or --method noisy-mosaic",
    "hierarchy": "leave it out: give --cells N in its place, or --method noisy-mosaic",
    "places": "leave it out: boxes have no names",
    "zones": "leave it out, or give --method noisy-mosaic",
    "zone_name": "leave it out, or give --method noisy-mosaic and --zones FILE",
    "protect": "leave it out: days of a person are what frames count, and a person is protected",
    "persons": "leave it out: boxes have one count; give --method noisy-mosaic",
    **dict.fromkeys(
        ("time", "time_hierarchy", "by", "groups"),
        "leave it out: boxes are one matrix; give --method noisy-mosaic, which has one for each step and group",
    ),
    **dict.fromkeys(("cells", "ends", "stops", "frames"), _GRID),
    **dict.fromkeys(_WRITTEN, "leave it out: frames are read of samples, which are written plainly"),
}
# Options of flows and crowds, which a release with noise does not have.
_NEVER_HINTS = {
    "k": "leave it out: --epsilon protects in place of crowds",
    "strict": "leave it out: success would depend on one row; the private audit file counts rows that were dropped",
    "counts": "leave it out: noise protects what a row counts, whatever it is",
    "max_unusable": "leave it out: success would depend on single rows; the private audit file counts those dropped",
    "elsewhere": "leave it out: a release with noise leaves nothing out to report",
    **dict.fromkeys(("totals", "remainders", "beside", "areas_from", "same_areas"), _OWN_AREAS),
    **dict.fromkeys(
        (
            "preset",
            "k_weight",
            "min_tiles",
            "max_share",
            "sensitive",
            "sensitive_tiles",
            "loss",
            "max_suppression",
            "max_gbar",
        ),
        _LEFT_OUT,
    ),
    **dict.fromkeys(("protect_margins", "rounding", "cell_key", "secret"), _TRUE_NUMBERS),
    **dict.fromkeys(("hide_choice", "weight", "trip_weight", "crs", "engine", "master"), _LEFT_OUT),
}


def choose_noise(method: str | None, epsilon: float | None, given: Iterable[str] = ()) -> str | None:
    """Return the method that adds noise, None if noise was not asked for; given: names of other options."""
    if method is not None and adds_noise(find_method(method).name):
        if epsilon is None:
            raise InputError(f"{method} needs a budget", "give --epsilon E, e.g. --epsilon 1")
        return method
    if epsilon is not None:
        if method not in (None, DEFAULT_METHOD):
            raise InputError(f"{method} adds no noise", "leave out --epsilon, or see flowveil methods")
        return MOSAIC
    for option in given:
        if option in {"max_trips_per_person", "protect", "persons", "groups", "cells", "ends", "stops", "frames"}:
            raise InputError(f"{spelled(option)} goes with noise", "give --epsilon E, or leave it out")
    return None


def check_given(method: str, given: Iterable[str]) -> None:
    """Raise on the first option that would change nothing, or that lets one row decide more than its count."""
    names = list(given)
    if "frames" in names and method in TILE_METHODS:
        raise InputError(f"--frames does not go with {method}", "give --method daf-entropy, or another with --cells")
    kind = _FRAMES if "frames" in names else method
    used = _ALWAYS | _USED.get(kind, _ON_CELLS)
    for option in names:
        if option not in used:
            hint = _SOMETIMES_HINTS.get(option) or _NEVER_HINTS.get(option, _LEFT_OUT)
            raise InputError(f"{spelled(option)} does not go with {kind if option in _SOMETIMES else 'noise'}", hint)


def count_for_noise(
    trips: TripsLike,
    method: str,
    given: Mapping[str, Any],  # of CountingOptions
    choose: ChooseBound,
) -> Matrix:
    """Return the matrix that a method needs of trips (what `read_trips` takes or returns, samples with frames).

    given: options by name, those of CountingOptions; others are refused. choose: how a bound is chosen privately.
    """
    for option in given:
        if option not in _ALWAYS | _SOMETIMES | _NEVER_HINTS.keys():
            raise TypeError(f"add_noise() got an unexpected keyword argument {option!r}")
    check_given(method, given)
    rest = dict(given)
    period = rest.pop("period", None)
    read = {name: rest.pop(name) for name in _OF_READING if name in rest}
    if "frames" in rest:
        query, samples = read.pop("query", None), cast("Readable", trips)
        source = samples if query is None else cast("QuerySource", open_source(samples, query))
        return build_frame_matrix(source, rest.pop("bbox", None), rest.pop("cells", DEFAULT_CELLS), **read, **rest)
    if isinstance(trips, Trips):
        for option in read:
            raise InputError(f"{spelled(option)} was given, but the trips are read", "give it to read_trips")
    else:
        trips = read_trips(trips, **read)
    box = rest.pop("bbox", None)
    if method in TILE_METHODS:
        return build_tile_matrix(trips, box, period=period, choose=choose, **rest)
    return build_matrix(trips, box, choose=choose, **rest)
