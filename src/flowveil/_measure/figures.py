"""The metrics by name, and what each is (docs/metrics.md)."""

from __future__ import annotations

from typing import TypedDict


class Losses(TypedDict):
    """What flows lost, each weighed by its volume; None where a figure does not apply."""

    gbar: float | None  # mean tiles of both ends
    e: float | None
    d: float | None
    suppressed: float  # share
    c_dm: float
    c_avg: float
    gdm: dict[str, float] | None  # meters: mean, median, sd
    mao: float | None  # square kilometers
    mad: float | None
    g_delta: float | None  # total generalization error of the quadtree paper, with its delta of 0.01
    t_closeness: dict[str, float] | None  # max, mean


class OverMatrices(TypedDict, total=False):
    """What a release with several matrices has beside."""

    totals: dict[str, float]  # flows, trips, suppressed
    tbar: float | None  # mean steps of time of a trip
    matrices: dict[str, float | None]  # count, withheld, gbar, suppressed
    each: list[dict[str, object]]  # by matrix: its keys, and METRIC_COLUMNS


class WithElsewhere(TypedDict, total=False):
    """What a release that reports the trips left out has beside."""

    elsewhere: dict[str, float | None]  # flows, trips, suppressed; gbar, mao, mad, g_delta, each also as _reached


class Tight(TypedDict):
    """Figures of the smallest boxes around trips."""

    gbar: float | None  # of all tiles that they touch
    gdm: dict[str, float] | None
    mao: float | None
    mad: float | None


class OfRectangles(TypedDict, total=False):
    """What a release of rectangles has beside."""

    tight: Tight


class OfRows(TypedDict, total=False):
    """What is measured on the rows of the input."""

    gdm_raw: dict[str, float] | None  # meters: mean, median, sd; None where trips have no coordinates


class Metrics(Losses, OverMatrices, WithElsewhere, OfRectangles, OfRows):
    """All metrics of a release of flows."""

    flows: int
    origin_areas: int
    destination_areas: int
    trips: int
    min_trips: int
    min_persons: int | None
    min_weight: float | None
    k: int
    k_weight: float | None
    below_k: int
    below_k_weight: int | None
    tiles: str
    population: Losses | None  # the same losses by people in place of trips
