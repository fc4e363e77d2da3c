"""Whom a release protects: the thesis' analysis of participants and population, by sex, age and category.

python -m benchmarks study prints the tables of docs/people.md: each part of the synthetic city protected for the
persons of the survey, for the people they stand for, and for both, and looked at from both sides.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import flowveil as fv
from flowveil.synthetic import CITY_BBOX, write_city

TRIPS, PERSONS = 80_000, 3_300  # about those of the survey in the thesis
K = 10
ATTRIBUTES = ("sex", "age_group", "category")
WHOLE = "whole"
METHODS = ("mosaic", "crosscut", "odkanon", "atg-soft", "oigh", "mondrian")
CROWDS = {
    "part": "part",
    "protected": "protected",
    "flows": "flows",
    "min_persons": "fewest persons",
    "below_k": "flows below k",
    "k_weight": "k_weight",
    "min_weight": "fewest people",
    "below_k_weight": "flows below k_weight",
    "suppressed": "left out",
    "gbar": "gbar, trips",
    "people gbar": "gbar, people",
}
LOSSES = {
    "method": "method",
    "protected": "protected",
    "suppressed": "left out",
    "below_k": "flows below k",
    "below_k_weight": "flows below k_weight",
    **{name: name for name in ("c_dm", "c_avg", "gbar", "e", "gdm")},
    **{f"people {name}": f"{name}, people" for name in ("c_dm", "c_avg", "gbar", "e", "gdm")},
}


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.parquet"
        write_city(path, trips=TRIPS, persons=PERSONS)
        print(f"{TRIPS:,} trips of {PERSONS:,} persons, h3:10, k {K}, k_weight k times the mean weight; mosaic:\n")
        print(markdown(study(path, parts(path)), CROWDS))
        print("\nThe whole city with other methods, measured on trips and on people:\n")
        print(markdown([row for method in METHODS for row in study(path, {WHOLE: None}, method)], LOSSES))


def parts(path):
    """Return the whole and every group of each attribute, with its condition."""
    table = pq.read_table(path, columns=list(ATTRIBUTES))
    groups = {
        f"{name} {group}": f"{name} = '{group}'"
        for name in ATTRIBUTES
        for group in sorted(pc.unique(table[name]).to_pylist())
    }
    return {WHOLE: None} | groups


def study(path, conditions, method="mosaic", grid="h3:10"):
    """Return one row for each part and protection: what is published, and how it stands on either side."""
    rows = []
    for part, where in conditions.items():
        trips = fv.read_trips(path, where=where)
        flows = fv.build_flows(trips, grid, bbox=CITY_BBOX, unit="person_id", weight="weight")
        participants = fv.anonymize(flows, method, k=K)
        least = math.ceil(participants.metrics()["k_weight"])
        releases = {
            "participants": participants,
            "population": fv.anonymize(flows, method, k=1, k_weight=least),
            "both": fv.anonymize(flows, method, k=K, k_weight=least),
        }
        for protected, release in releases.items():
            figures = release.metrics(k=K, k_weight=least)
            people = {f"people {name}": value for name, value in figures["population"].items()}
            rows.append({"part": part, "method": method, "protected": protected} | figures | people)
    return rows


def markdown(rows, columns):
    """Return rows as a Markdown table."""
    lines = [list(columns.values()), ["---"] * 2 + ["---:"] * (len(columns) - 2)]
    lines += [[_shown(name, row[name]) for name in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(name, value):
    if name.endswith("gdm"):
        return "" if value is None else f"{value['mean']:,.0f} m"
    if name == "suppressed":
        return f"{value:.1%}"
    if name.endswith("c_dm"):
        return f"{value:.1e}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    return value if isinstance(value, str) else f"{value:,}"


if __name__ == "__main__":
    main()
