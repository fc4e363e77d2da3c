"""Trajectories of which any few points fit k users or none: what is kept of check-ins and of phones, and an attack.

python -m benchmarks known_points prints the rows of docs/trajectories-measured.md on k^m. The attack is a loop of
its own over raw rows: for every user, random points are drawn several times, and users are counted whose published
samples hold all.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import flowveil as fv
from benchmarks.thresholds import NAMES
from benchmarks.trajectories import CHECKINS, CHECKINS_BBOX
from flowveil import PromiseError, trajectories
from flowveil.synthetic import PHONES_BBOX, phones

K = 5
DRAWS = 2
SETTINGS = (
    {"max_suppression": 0.5},
    {"max_suppression": 0.8},
    {"max_suppression": 0.5, "max_extent": "4km"},
    {"max_suppression": 0.95, "max_duration": "6h"},
    {"max_suppression": 0.5, "cut_into": "week"},
    {"max_suppression": 0.8, "cut_into": "day"},
    {"max_suppression": 0.95, "cut_into": "day"},
)


def main():
    for known in (2, 3):
        if CHECKINS.is_file():
            for options in SETTINGS:
                measure("Gowalla NYC", frequent(pq.read_table(CHECKINS)), known, options, CHECKINS_BBOX)
        for lost in (0.2, 0.4):
            measure("2,000 phones", phones(2000), known, {"max_suppression": lost}, PHONES_BBOX)


def frequent(table):
    """Return the check-ins of users with at least 10 of them; --min-samples would count in each week that is cut."""
    user, count = np.unique(table["user_id"].to_numpy(), return_counts=True)
    return table.filter(np.isin(table["user_id"].to_numpy(), user[count >= 10]))


def measure(name, table, known, options, bbox):
    start = time.process_time()
    label = f"  {name}, k = {K}, m = {known}, {options}"
    try:
        release = trajectories.anonymize(table, K, method="km", known_points=known, bbox=bbox, **options)
    except PromiseError as error:
        print(f"{label}: {error}", flush=True)
        return
    made = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        out = release.write(Path(folder) / "out")
        start = time.process_time()
        trajectories.verify(out, table)
        checked = time.process_time() - start
        figures = trajectories.evaluate(out, table).figures()
        known_to = fv.risk(out, table, attacks="points").findings[0].details["by_points"]
    audit = release.audit
    extent, duration = figures["extent"], figures["duration"]
    print(
        f"{label}: {1 - audit['suppressed_rows'] / audit['rows']:.1%} of rows kept, of "
        f"{audit['users'] - audit['suppressed_users']:,} of {audit['users']:,} users, {audit['groups']:,} paths, "
        f"extent mean {extent['mean'] / 1000:.2f} median {extent['median'] / 1000:.2f} km, "
        f"duration mean {duration['mean'] / 60:.1f} median {duration['median'] / 60:.1f} h, "
        f"position error {figures['position_error']['mean'] / 1000:.2f} km, time error "
        f"{figures['time_error']['mean'] / 60:.1f} h; made in {made:.0f} s, verified in {checked:.0f} s",
        flush=True,
    )
    fits = attack(release, table, known)
    few = sum(fits[users] for users in range(1, K))
    print(
        f"    {sum(fits.values()):,} sets of {known} points: {few} fit 1 to {K - 1} users, {fits[0]:,} none", flush=True
    )
    names = ("one", "belief", "belief_most", "belief_drawn", "belief_drawn_most", "above")
    beliefs = {points: [round(found[name], 4) for name in names] for points, found in known_to.items()}
    print(f"    by points, {', '.join(names)}: {beliefs}", flush=True)


def attack(release, table, known):
    """Return how often random points of a user are in the published samples of how many users."""
    columns = {name: next(column for column in given if column in table.column_names) for name, given in NAMES.items()}
    rows = defaultdict(list)
    moments = table[columns["time"]].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    values = zip(*(table[columns[name]].to_pylist() for name in ("user", "lon", "lat")), moments, strict=True)
    for user, *point in values:
        rows[str(user)].append(point)
    paths = release.trajectories
    corners = [paths[name].to_numpy() for name in ("lon0", "lon1", "lat0", "lat1")]
    spans = [paths[name].cast(pa.int64()).to_numpy() for name in ("t0", "t1")]
    edges, box = np.unique(np.stack(corners + spans), axis=1, return_inverse=True)
    group, size = paths["group"].to_numpy(), paths["size"].to_numpy()
    sizes = size[np.flatnonzero(np.diff(group, prepend=-1))]
    random = np.random.default_rng(7)
    fits: Counter[int] = Counter()
    for own in rows.values():
        if len(own) < known:
            continue
        for _ in range(DRAWS):
            left = np.ones(len(sizes), bool)
            for place in random.choice(len(own), known, replace=False):
                inside = np.ones(edges.shape[1], bool)
                for axis, value in enumerate(own[place]):
                    inside &= (edges[2 * axis] <= value) & (value < edges[2 * axis + 1])
                holding = np.zeros(len(sizes), bool)
                if inside.any():
                    holding[group[np.isin(box, np.flatnonzero(inside))]] = True
                left &= holding
                if not left.any():
                    break
            fits[int(sizes[left].sum())] += 1
    return fits
