"""Whether places link trajectories that were cut into days: an attack with nothing but the release.

python -m benchmarks linked_days prints the table of docs/trajectories-measured.md. For each trajectory the one of the
next day is taken whose samples are the nearest, by quarter of the day; the private members say whether they have a user
in common.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from math import cos, radians

import numpy as np

from flowveil import trajectories
from flowveil.synthetic import PHONES_BBOX, phones

HOURS = 6
NARROW = cos(radians((PHONES_BBOX[1] + PHONES_BBOX[3]) / 2))
WAYS = (
    (2, {}),
    (5, {}),
    (10, {}),
    (2, {"max_extent": "2km", "max_duration": "3h"}),
    (2, {"method": "gather", "price": 0.25}),
    (5, {"method": "gather", "price": 0.25}),
    (5, {"method": "km"}),
)


def main():
    print("trajectories of a day, and the nearest of the next day")
    table = phones(500, samples=280, days=7)
    for k, options in WAYS:
        release = trajectories.anonymize(table, k, bbox=PHONES_BBOX, cut_into="day", **options)
        right, chance, pairs = link(release)
        print(f"  k = {k}, {options}: {right:.1%} have a user in common, by chance {chance:.1%} ({pairs:,} tried)")


def link(release):
    """Return how often the nearest trajectory of the next day has a user in common, how often any has, and tries."""
    users, day = defaultdict(set), {}
    for row in release.members.to_pylist():
        if row["group"] is not None:
            users[row["group"]].add(row["user_id"])
            day[row["group"]] = row["period"]
    places = places_of(release.trajectories)
    right, chance = [], []
    days = sorted(set(day.values()))
    for today, tomorrow in pairwise(days):
        later = [group for group, when in day.items() if when == tomorrow]
        for group in (group for group, when in day.items() if when == today):
            common = [bool(users[group] & users[other]) for other in later]
            near = np.argmin([apart(places[group], places[other]) for other in later])
            right.append(common[int(near)])
            chance.append(np.mean(common))
    return np.mean(right), np.mean(chance), len(right)


def places_of(table):
    """Return by group and quarter of the day the mean of the middles of its samples."""
    found = defaultdict(lambda: defaultdict(list))
    for row in table.to_pylist():
        middle = row["t0"] + (row["t1"] - row["t0"]) / 2
        place = (row["lon0"] + row["lon1"]) / 2 * NARROW, (row["lat0"] + row["lat1"]) / 2
        found[row["group"]][middle.hour // HOURS].append(place)
    return {group: {hour: np.mean(some, axis=0) for hour, some in own.items()} for group, own in found.items()}


def apart(one, other):
    """Return how far two trajectories are apart in the quarters that both have."""
    both = set(one) & set(other)
    return np.mean([np.hypot(*(one[hour] - other[hour])) for hour in both]) if both else np.inf
