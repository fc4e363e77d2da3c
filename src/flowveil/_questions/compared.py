"""Answers before and after: one number for each question, and what a chart of it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._places import meters_between
from flowveil._questions.figures import common, gravity, rank_correlation, shares, strongest

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray
    from flowveil._folder import Json
    from flowveil._places import ZoneTable

TOP = 10
YOURS = "your zones"  # what districts are that the user gave
BINS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, np.inf)  # kilometers
_LABELS = ("below 1", "1 to 2", "2 to 5", "5 to 10", "10 to 20", "20 to 50", "50 or more")
_BARS = 12  # districts or pairs that a chart shows


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of trips between districts, from the input or from a release."""

    between: FloatArray  # districts of origins by districts of destinations: trips
    lengths: FloatArray | None  # kilometers, of trips or of a sample of them; None where places are not known
    weights: FloatArray | None  # of these lengths
    hours: FloatArray | None  # by hour of the day: trips; None where times are not known


class Wording(NamedTuple):
    """What a trip is, and how a reader comes to the answers after."""

    trip: str
    after: str


@dataclass(frozen=True, eq=False)
class Answered:
    """Figures by question, and charts of them: values before and after, by label."""

    figures: dict[str, Json]
    charts: list[dict[str, Json]]
    after: str  # how a reader comes to the answers


def compare_facts(
    before: Facts, after: Facts, zones: ZoneTable, rule: str, outside: float, wording: Wording
) -> Answered:
    """Return what a release answers beside the truth."""
    trips = [before.between, after.between]
    departures = [matrix.sum(axis=1) for matrix in trips]
    places = [f"{one} to {other}" for one in _called(zones) for other in _called(zones)]
    figures: dict[str, Json] = {
        "trip": wording.trip,
        "districts": {"count": len(zones.ids), "rule": rule, "outside": outside},
        "between": _pair(*(float(matrix.sum()) for matrix in trips)) | {"common": common(*trips)},
        "departures": {"common": common(*departures)},
        "top": _top(*(matrix.ravel() for matrix in trips)),
    }
    charts = [
        _chart("Strongest flows between districts", places, *(matrix.ravel() for matrix in trips), unit="trips"),
        _chart("Departures by district", _called(zones), *departures, unit="trips"),
    ]
    figures["length"] = None
    if before.lengths is not None and after.lengths is not None:
        counts = [_by_length(fact) for fact in (before, after)]
        means = [float(np.average(fact.lengths, weights=fact.weights)) for fact in (before, after)]  # type: ignore[arg-type]
        figures["length"] = _pair(*means) | {"common": common(*counts)}
        percents = [100 * count for count in counts]
        charts.append(_chart("Length of trips, km", list(_LABELS), *percents, unit="% of trips", largest=False))
    figures["peak_hour"] = None
    if before.hours is not None and after.hours is not None:
        parts = [shares(hours) for hours in (before.hours, after.hours)]
        figures["peak_hour"] = _pair(*(int(np.argmax(part)) for part in parts)) | {"common": common(*parts)}
        labels = [f"{hour}:00" for hour in range(24)]
        charts.append(
            _chart("Trips by hour", labels, *(100 * part for part in parts), unit="% of trips", largest=False)
        )
    models = [gravity(matrix.copy(), _kilometers(zones)) for matrix in trips]
    figures["gravity"] = None
    if models[0] is not None and models[1] is not None:
        figures["gravity"] = _pair(*models)
        exponents = [np.array(list(model.values())) for model in models if model is not None]
        charts.append(
            _chart("Exponents of a gravity model", list(models[0]), *exponents, unit="exponent", largest=False)
        )
    return Answered(figures, charts, wording.after)


def _pair(before: Json, after: Json) -> dict[str, Json]:
    return {"before": before, "after": after}


def _called(zones: ZoneTable) -> list[str]:
    """Return what people call zones."""
    names = [None] * len(zones.ids) if zones.name_column is None else zones.columns[zones.name_column]
    return [name or zone for zone, name in zip(zones.ids, names, strict=True)]


def _top(before: FloatArray, after: FloatArray) -> dict[str, Json]:
    """Return how many of the strongest pairs are among the strongest after, and how the order of all pairs agrees."""
    true, told = strongest(before, TOP), strongest(after, TOP)
    some = before > 0
    return {
        "count": len(true),
        "overlap": len(np.intersect1d(true, told)) / max(len(true), 1),
        "rank_correlation": rank_correlation(before[some], after[some]),
    }


def _by_length(facts: Facts) -> FloatArray:
    return shares(np.histogram(facts.lengths, BINS, weights=facts.weights)[0].astype(np.float64))  # type: ignore[arg-type]


def _kilometers(zones: ZoneTable) -> FloatArray:
    """Return how far the centers of zones are from each other."""
    count = len(zones.ids)
    row, column = (axis.ravel() for axis in np.indices((count, count)))
    meters = meters_between(zones.lon[row], zones.lat[row], zones.lon[column], zones.lat[column])
    return np.nan_to_num(meters.reshape(count, count) / 1000)


def _chart(
    title: str, labels: list[str], before: FloatArray, after: FloatArray, *, unit: str, largest: bool = True
) -> dict[str, Json]:
    """Return what a chart shows; largest: of many values the largest before, largest first."""
    rows = strongest(before, _BARS) if largest else np.arange(len(labels))
    return {
        "title": title,
        "unit": unit,
        "values": [labels[row] for row in rows.tolist()],
        "before": [round(value, 3) for value in before[rows].tolist()],
        "after": [round(value, 3) for value in after[rows].tolist()],
    }
