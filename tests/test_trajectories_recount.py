"""Who was seen where, counted from raw rows in plain Python: every method, random settings, odd data.

Nothing here is shared with what makes or verifies releases. Rows are repeated, at one moment in two places, on the
edges of the box, at a pole, at the date line, without a user or a place; users have one row; clocks change.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import combinations
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowveil import PromiseError, trajectories
from tests.test_trajectories_release import rewrite

EDGE = 1e-9  # degrees: a point on an edge may be rounded to either side
BOXES = ((4.4, 50.26, 4.82, 50.53), (-180.0, -90.0, 180.0, 90.0), (179.5, -20.0, 180.0, -19.5))
CLOCKS_CHANGE = datetime(2024, 3, 30, 12, tzinfo=UTC)
METHODS = (
    {},
    {"variant": "absorb", "blocks": 2},
    {"reshape": False, "max_extent": "3km"},
    {"max_extent": "1km", "max_duration": "2h", "variant": "loose"},
    {"min_support": 2},
    {"complete_support": True, "price": 1.0},
    {"method": "gather", "max_suppression": 0.7},
    {"method": "gather", "price": 0.2, "variant": "absorb", "min_support": 4},
    {"method": "km", "known_points": 2, "max_suppression": 0.9},
    {"method": "km", "known_points": 3, "max_suppression": 1.0, "max_duration": "8h"},
)


def draw_rows(chance, box):
    """Return rows of user, longitude, latitude and moment, some of them twice, some that cannot be used."""
    west, south, east, north = box
    hubs = [(chance.uniform(west, east), chance.uniform(south, north)) for _ in range(2)]
    hubs += [(west, south), (east, north)]
    rows = []
    for user in range(chance.choice([12, 25, 40])):
        for _ in range(chance.choice([1, 3, 9])):
            lon, lat = hubs[chance.choice([0, 0, 0, 0, 1, 1, 2, 3])]
            lon = min(180.0, max(-180.0, lon + chance.choice([0, 0, 0.002, -0.004])))
            rows.append((f"u{user}", lon, lat, CLOCKS_CHANGE + timedelta(seconds=chance.randrange(0, 2 * 86400, 431))))
    rows += chance.choices(rows, k=10)
    rows += [(user, hubs[1][0], lat, time) for user, _, lat, time in chance.choices(rows, k=5)]
    rows += [(None, *rows[0][1:]), ("u0", None, *rows[0][2:]), ("u1", *rows[0][1:3], None), ("u2", 200.0, *rows[0][2:])]
    chance.shuffle(rows)
    return rows


def as_table(rows):
    """Return them as a table."""
    user, lon, lat, time = zip(*rows, strict=True)
    return pa.table({"user_id": user, "lon": lon, "lat": lat, "time": pa.array(time, pa.timestamp("us", "UTC"))})


def day_of(time, options):
    """Return the day or week that a moment is in, None where nothing is cut."""
    if "cut_into" not in options:
        return None
    day = time.astimezone(ZoneInfo(options["timezone"])).date()
    return day - timedelta(days=day.weekday() if options["cut_into"] == "week" else 0)


def find_faults(folder, rows, box, k):
    """Return what raw rows say against a release."""
    manifest = json.loads((folder / "manifest.json").read_text())
    options, promise = manifest["options"], manifest["promise"]
    samples = pq.read_table(folder / "trajectories.parquet").to_pylist()
    members = pq.read_table(folder.with_name(folder.name + ".members.parquet")).to_pylist()
    own = defaultdict(list)
    for user, lon, lat, time in rows:
        if None not in (user, lon, lat, time) and box[0] <= lon <= box[2] and box[1] <= lat <= box[3]:
            own[user, day_of(time, options)].append((lon, lat, time))
    known = Counter((row["user_id"], row.get("period")) for row in members)
    group = {(row["user_id"], row.get("period")): row["group"] for row in members}
    faults = ["users"] * (set(own) != set(known)) + ["twice"] * (max(known.values()) > 1)
    seen, people, size = [set() for _ in samples], defaultdict(set), {}
    kept, lost = Counter(), Counter()
    for who, points in own.items():
        for lon, lat, time in points:
            held = [
                number
                for number, one in enumerate(samples)
                if one["group"] == group[who]
                and one["t0"] <= time < one["t1"]
                and one["lon0"] - EDGE <= lon <= one["lon1"] + EDGE
                and one["lat0"] - EDGE <= lat <= one["lat1"] + EDGE
            ]
            for number in held:
                seen[number].add(who[0])
                people[group[who]].add(who[0])
            (kept if held else lost)[who] += 1
    for one, users in zip(samples, seen, strict=True):
        size[one["group"]] = one["size"]
        complete = promise.get("support") == "complete" or promise["kind"] == "km-anonymity"
        least = one["size"] if complete else promise.get("min_support", 1)
        faults += ["support"] * (not least <= len(users) == one["support"])
    faults += ["size"] * (size != {name: len(users) for name, users in people.items()})
    if promise["kind"] == "km-anonymity":
        faults += ["points"] * (fewest_users(samples, size, promise["known_points"]) < k)
    else:
        faults += ["crowd"] * (min(len(people[name]) for name in size) < k)
    faults += ["kept"] * any(row["kept"] > kept[row["user_id"], row.get("period")] for row in members)
    share = sum(lost.values()) / max(1, sum(lost.values()) + sum(kept.values()))
    return faults + ["budget"] * (share > promise.get("max_suppression", 1) + 1e-9)


def fewest_users(samples, size, known):
    """Return how many users have the rarest set of at most so many samples that somebody has; size: by group."""
    sets = Counter()
    for name, many in size.items():
        cells = sorted({tuple(list(one.values())[3:]) for one in samples if one["group"] == name})
        for length in range(1, known + 1):
            for some in combinations(cells, length):
                sets[some] += many
    return min(sets.values())


def try_out(seed, folder):
    """Write a release of random rows with random options; return faults, None if it was refused."""
    chance = random.Random(seed)  # noqa: S311  settings, not secrets
    box, k = BOXES[seed % len(BOXES)], chance.choice([2, 3])
    rows, options = draw_rows(chance, box), dict(METHODS[seed % len(METHODS)])
    options["step"] = chance.choice(["100m,1min", "1km,30min"])
    if chance.random() < 0.4:
        options |= {"cut_into": chance.choice(["day", "week"]), "timezone": "Europe/Brussels"}
    try:
        release = trajectories.anonymize(as_table(rows), k, bbox=box, **options)
    except PromiseError:
        return None
    trajectories.verify(release.write(folder), as_table(rows))
    return find_faults(folder, rows, box, k)


@pytest.mark.slow
def test_raw_rows_agree_with_random_releases(tmp_path):
    """In none of 30 settings raw rows say anything against a release, and most settings give one."""
    found = [try_out(seed, tmp_path / f"out{seed}") for seed in range(30)]

    assert {seed: faults for seed, faults in enumerate(found) if faults} == {}
    assert sum(faults is not None for faults in found) > 15


def test_samples_at_a_pole_and_the_date_line(tmp_path):
    """Samples where cells are cut off by the edge of the world are published and verified like others."""
    places = [(180.0, 90.0), (-180.0, -90.0), (0.0, 90.0)]
    rows = [
        (f"u{user}", lon, lat, CLOCKS_CHANGE + timedelta(hours=hour))
        for user in range(2)
        for hour, (lon, lat) in enumerate(places)
    ]
    folder = trajectories.anonymize(as_table(rows), 2, bbox=BOXES[1]).write(tmp_path / "out")

    assert trajectories.verify(folder, as_table(rows)).users == 2
    assert find_faults(folder, rows, BOXES[1], 2) == []


def test_plain_counting_finds_faults(tmp_path):
    """A user who was elsewhere, a group that is too small and a wrong support are found."""
    rows = [(f"u{user}", 4.5, 50.4 + user // 2 / 100, CLOCKS_CHANGE) for user in range(4)]
    folder = trajectories.anonymize(as_table(rows), 2, bbox=BOXES[0]).write(tmp_path / "out")
    moved = [("u0", 4.6, 50.4, CLOCKS_CHANGE), *rows[1:]]

    assert find_faults(folder, rows, BOXES[0], 2) == []
    assert find_faults(folder, rows, BOXES[0], 3) == ["crowd"]
    assert {"support", "size", "crowd", "kept"} <= set(find_faults(folder, moved, BOXES[0], 2))
    rewrite(folder / "trajectories.parquet", lambda columns: columns | {"support": [1] * len(columns["support"])})
    assert "support" in find_faults(folder, rows, BOXES[0], 2)
