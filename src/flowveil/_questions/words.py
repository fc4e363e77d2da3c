"""Answers in words that a planner understands: a question and what a release answers beside the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flowveil._folder import Json


def answer_rows(figures: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return one line for each question, with units."""
    return list(_rows(figures))


def _rows(figures: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    yield "A trip is", figures["trip"]
    districts = figures["districts"]
    yield (
        "Districts",
        f"{districts['rule']}; {_share(districts['outside'])} of the trips have an end in none and are not counted",
    )
    between, top = figures["between"], figures["top"]
    yield (
        "Trips between districts",
        f"{_share(between['common'])} in common (before {between['before']:,.0f} trips, after {between['after']:,.0f})",
    )
    yield "Departures by district", f"{_share(figures['departures']['common'])} in common"
    order = top["rank_correlation"]
    told = "" if order is None else f"; rank correlation of all pairs {order:.2f}"
    yield f"The {top['count']} strongest flows", f"{_share(top['overlap'])} of them are among the strongest after{told}"
    yield (
        "Length of trips",
        _told(figures["length"], lambda value: f"mean {value:.2f} km", "the release does not tell it"),
    )
    yield "Peak hour", _told(figures["peak_hour"], lambda value: f"{value}:00", "the release does not tell the hour")
    models = figures["gravity"]
    yield (
        "Gravity model: exponent of distance",
        "there are too few districts with trips"
        if models is None
        else f"before {models['before']['distance']:.2f}, after {models['after']['distance']:.2f}",
    )


def _told(answer: Mapping[str, Json] | None, write: object, missing: str) -> str:
    if answer is None:
        return f"not known: {missing}"
    before, after = (write(answer[name]) for name in ("before", "after"))  # type: ignore[operator]
    return f"before {before}, after {after}; {_share(answer['common'])} in common"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"
