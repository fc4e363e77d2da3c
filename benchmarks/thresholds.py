"""Trajectories with thresholds: what is left of check-ins and of phones, and who is really in each group.

python -m benchmarks thresholds prints the rows of docs/trajectories-measured.md "with thresholds". Groups are counted
from input rows with a loop of its own: users with a row inside a published sample of their group.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.trajectories import CHECKINS, CHECKINS_BBOX
from flowveil import trajectories
from flowveil.synthetic import PHONES_BBOX, phones

THRESHOLDS = {"max_extent": "15km", "max_duration": "6h"}
NAMES = {"user": ("user_id", "uid"), "lon": ("lon", "lng"), "lat": ("lat",), "time": ("time", "datetime")}


def main():
    print("trajectories, --max-extent 15km --max-duration 6h")
    if CHECKINS.is_file():
        for k in (2, 5):
            measure("Gowalla NYC", pq.read_table(CHECKINS), k, bbox=CHECKINS_BBOX, min_samples=10)
    for k in (2, 5):
        measure("2,000 phones", phones(2000), k, bbox=PHONES_BBOX)


def measure(name, table, k, **options):
    release = trajectories.anonymize(table, k, **THRESHOLDS, **options)
    with tempfile.TemporaryDirectory() as folder:
        out = release.write(Path(folder) / "out")
        checked = trajectories.verify(out, table)
        figures = trajectories.evaluate(out, table).figures()
    audit = release.audit
    print(
        f"  {name}, k = {k}: {audit['groups']:,} groups, {audit['suppressed_users']:,} of {audit['users']:,} users "
        f"discarded, {audit['suppressed_rows'] / audit['rows']:.1%} of rows deleted, "
        f"extent {figures['extent']['mean'] / 1000:.2f} km, duration {figures['duration']['mean']:.0f} min, "
        f"position error {figures['position_error']['mean'] / 1000:.2f} km, time error "
        f"{figures['time_error']['mean']:.0f} min, unsupported {checked.unsupported:.1%}"
    )
    sizes = dict(zip(*(release.trajectories[column].to_pylist() for column in ("group", "size")), strict=True))
    people = people_of(release, table)
    wrong = sum(people[group] != size for group, size in sizes.items())
    print(f"    fewest users with a row in a group: {min(people.values())}; sizes that differ from it: {wrong}")
    for points, shares in figures["unicity"].items():
        print(f"    {points} points: one before {shares['before']['one']:.1%}, after {shares['after']}")


def people_of(release, table):
    """Return how many users of each group have an input row inside one of its samples."""
    columns = {name: next(column for column in known if column in table.column_names) for name, known in NAMES.items()}
    user, lon, lat = (table[columns[name]].to_pylist() for name in ("user", "lon", "lat"))
    time = table[columns["time"]].cast(pa.timestamp("us", "UTC")).to_pylist()
    group_of = {row["user_id"]: row["group"] for row in release.members.to_pylist()}
    boxes = defaultdict(list)
    for box in release.trajectories.to_pylist():
        boxes[box["group"]].append(box)
    people = defaultdict(set)
    for who, x, y, moment in zip(user, lon, lat, time, strict=True):
        group = group_of.get(str(who))
        if group is None or who in people[group]:
            continue
        if any(
            b["t0"] <= moment < b["t1"] and b["lon0"] <= x < b["lon1"] and b["lat0"] <= y < b["lat1"]
            for b in boxes[group]
        ):
            people[group].add(who)
    return {group: len(users) for group, users in people.items()}
