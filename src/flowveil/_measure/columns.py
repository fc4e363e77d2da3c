"""Metrics as columns of a table: one list for every table of methods, of matrices, of studies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._measure.figures import Metrics

    Value = int | float | None


class MetricColumn(NamedTuple):
    """A column of metrics: how it is headed, and whether its numbers are whole."""

    heading: str
    whole: bool = False


_LOSSES = {
    "gbar": MetricColumn("gbar, tiles"),
    "suppressed": MetricColumn("left out"),
    "e": MetricColumn("e"),
    "d": MetricColumn("d"),
    "gdm_mean": MetricColumn("gdm, m"),
    "gdm_median": MetricColumn("median gdm, m"),
    "gdm_sd": MetricColumn("sd of gdm, m"),
    "mao": MetricColumn("mao, km2"),
    "mad": MetricColumn("mad, km2"),
    "g_delta": MetricColumn("g_delta, trips"),
    "c_dm": MetricColumn("c_dm"),
    "c_avg": MetricColumn("c_avg"),
    "t_closeness_max": MetricColumn("t"),
    "t_closeness_mean": MetricColumn("mean t"),
}
_BESIDE = {
    "gdm_raw_mean": MetricColumn("gdm from coordinates, m"),
    "gdm_raw_median": MetricColumn("median gdm from coordinates, m"),
    "gdm_raw_sd": MetricColumn("sd of gdm from coordinates, m"),
    "tight_gbar": MetricColumn("gbar of tight boxes, tiles"),
    "tight_gdm_mean": MetricColumn("gdm of tight boxes, m"),
    "tight_mao": MetricColumn("mao of tight boxes, km2"),
    "tight_mad": MetricColumn("mad of tight boxes, km2"),
    "tbar": MetricColumn("tbar, steps"),
    "flows": MetricColumn("flows", whole=True),
    "origin_areas": MetricColumn("origin areas", whole=True),
    "destination_areas": MetricColumn("destination areas", whole=True),
    "trips": MetricColumn("trips", whole=True),
    "min_trips": MetricColumn("fewest trips", whole=True),
    "min_persons": MetricColumn("fewest persons", whole=True),
    "min_weight": MetricColumn("fewest people"),
    "below_k": MetricColumn("flows below k", whole=True),
    "below_k_weight": MetricColumn("flows below k_weight", whole=True),
}
_ELSEWHERE = {
    "suppressed": "left out",
    **{
        f"{name}{suffix}": f"{heading}{told}"
        for suffix, told in (("", ""), ("_reached", ", tiles reached"))
        for name, heading in (("gbar", "gbar"), ("mao", "mao, km2"), ("mad", "mad, km2"), ("g_delta", "g_delta"))
    },
}
# In the order of a table; `population_NAME` is NAME on the people that trips stand for.
METRIC_COLUMNS: dict[str, MetricColumn] = {
    **_LOSSES,
    **_BESIDE,
    **{f"elsewhere_{name}": MetricColumn(f"{heading}, with elsewhere") for name, heading in _ELSEWHERE.items()},
    **{f"population_{name}": MetricColumn(f"{column.heading}, of people") for name, column in _LOSSES.items()},
}


def metric_row(figures: Metrics) -> dict[str, Value]:
    """Return metrics by the names of METRIC_COLUMNS; None where a release has no such figure."""
    plain = _flat(figures)
    return {name: plain.get(name) for name in METRIC_COLUMNS}


def _flat(figures: Mapping[str, object], prefix: str = "") -> dict[str, Value]:
    """Return nested figures under joined names."""
    plain: dict[str, Value] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            plain |= _flat(value, f"{prefix}{name}_")
        elif isinstance(value, int | float):
            plain[prefix + name] = value
    return plain
