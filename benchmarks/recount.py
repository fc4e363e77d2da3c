"""Who is really in each group of trajectories, counted from raw rows by SQL: random settings, check-ins, phones, cabs.

python -m benchmarks recount writes releases with 200 random methods, thresholds, budgets and variants, and counts for
every group the users who have an input row in one of its samples, and for every sample those who have one in it.
Nothing of it is shared with what makes or verifies releases. A setting that cannot be kept is refused: that is counted.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import CABS, CABS_BBOX
from benchmarks.trajectories import CHECKINS, CHECKINS_BBOX
from flowveil import PromiseError, trajectories
from flowveil.synthetic import PHONES_BBOX, phones

SETTINGS = 200
EDGE = 1e-9  # degrees: a point on an edge may be rounded to either side
SEEN = """
    SELECT s.sample, s."group", m.user_id
    FROM samples AS s JOIN members AS m ON s."group" = m."group" JOIN raw AS r ON r.user_id = m.user_id
    WHERE r.moment >= epoch_us(s.t0) AND r.moment < epoch_us(s.t1)
      AND r.lon BETWEEN s.lon0 - $edge AND s.lon1 + $edge AND r.lat BETWEEN s.lat0 - $edge AND s.lat1 + $edge
    GROUP BY ALL
"""


def recount(folder, table):
    """Return what raw rows say of a written release: fewest users of a group, wrong sizes, samples without a member."""
    released = pq.read_table(folder / "trajectories.parquet")
    base = duckdb.connect()
    base.execute("SET TimeZone = 'UTC'")
    base.register("published", released.append_column("sample", pa.array(range(len(released)))))
    base.register("members", pq.read_table(folder.with_name(folder.name + ".members.parquet")))
    base.register("given", table)
    base.execute("CREATE TABLE samples AS SELECT * FROM published")
    base.execute(
        "CREATE TABLE raw AS SELECT user_id::VARCHAR AS user_id, lon, lat, epoch_us(time) AS moment FROM given"
    )
    base.execute(f"CREATE TABLE seen AS {SEEN}", {"edge": EDGE})
    fewest, wrong, groups = base.execute(
        "SELECT min(people), count(*) FILTER (people IS DISTINCT FROM size), count(*) FROM "
        '(SELECT "group", any_value(size) AS size FROM samples GROUP BY "group") LEFT JOIN '
        '(SELECT "group", count(DISTINCT user_id) AS people FROM seen GROUP BY "group") USING ("group")'
    ).fetchone()
    lonely, odd, samples = base.execute(
        "SELECT count(*) FILTER (coalesce(people, 0) < size), count(*) FILTER (coalesce(people, 0) <> support), "
        "count(*) FROM samples LEFT JOIN (SELECT sample, count(*) AS people FROM seen GROUP BY sample) USING (sample)"
    ).fetchone()
    twice = base.execute("SELECT count(*) - count(DISTINCT user_id) FROM members").fetchone()[0]
    return {
        "groups": groups,
        "samples": samples,
        "fewest": fewest or 0,
        "wrong_sizes": wrong,
        "not_all_seen": lonely,
        "wrong_support": odd,
        "twice": twice,
    }


def check(release, table, k):
    """Count a release; return whether all of it is as promised, and the counts."""
    with tempfile.TemporaryDirectory() as place:
        folder = release.write(Path(place) / "out")
        trajectories.verify(folder, table)
        found = recount(folder, table)
    complete = release.manifest["promise"].get("support") == "complete"
    good = found["fewest"] >= k and not found["wrong_sizes"] and not found["wrong_support"] and not found["twice"]
    return good and not (complete and found["not_all_seen"]), found


def draw_setting(chance):
    """Return random options: (k, options)."""
    k = chance.choice([2, 2, 3, 4, 5])
    options = {"variant": chance.choice(["strict", "absorb", "loose"])}
    options |= chance.choice([{}, {}, {"max_extent": "3km", "max_duration": "2h"}, {"max_extent": "1km"}])
    if chance.random() < 0.3:
        options["min_support"] = chance.randint(2, k + 1)
    if chance.random() < 0.6:
        options["method"] = "gather"
        options["variant"] = chance.choice(["strict", "absorb"])
    elif chance.random() < 0.5:
        options["complete_support"] = True
    if "method" in options or "complete_support" in options:
        options |= chance.choice(
            [
                {"max_suppression": chance.choice([0.05, 0.2, 0.5, 0.9])},
                {"price": chance.choice([0.02, 0.1, 0.3, 1.0])},
                {"max_mean_extent": "1500m", "max_mean_duration": "3h"},
            ]
        )
    elif chance.random() < 0.3:
        options["reshape"] = False
    return k, options


def random_settings():
    chance, kept, refused, bad = random.Random(19), 0, 0, 0  # noqa: S311  settings, not secrets
    for number in range(SETTINGS):
        k, options = draw_setting(chance)
        table = phones(chance.randint(10, 60), samples=chance.randint(3, 30), days=chance.choice([2, 7]), seed=number)
        try:
            release = trajectories.anonymize(table, k, bbox=PHONES_BBOX, **options)
        except PromiseError:
            refused += 1
            continue
        good, found = check(release, table, k)
        kept += 1
        if not good:
            bad += 1
            print(f"    BROKEN: k = {k}, {options}: {found}")
    print(f"  {SETTINGS} random settings: {kept} releases as promised but {bad}, {refused} refused")


def cab_samples():
    """Return where and when trips of cabs began and ended, as samples."""
    base = duckdb.connect()
    query = (
        "SELECT vehicle_id::VARCHAR AS user_id, {0}_lon AS lon, {0}_lat AS lat, {0}_time AS time FROM '"
        + str(CABS)
        + "'"
    )
    return base.execute(" UNION ALL ".join(query.format(end) for end in ("start", "end"))).to_arrow_table()


def large_sets():
    """Return phones, check-ins and cabs, as far as they are there: name, samples, options of reading."""
    sets = [("2,000 phones", phones(2000), {"bbox": PHONES_BBOX})]
    if CHECKINS.is_file():
        table = pq.read_table(CHECKINS, columns=["user_id", "lon", "lat", "time"])
        sets.append(("Gowalla NYC", table, {"bbox": CHECKINS_BBOX, "min_samples": 10}))
    if CABS.is_file():
        sets.append(("537 cabs", cab_samples(), {"bbox": CABS_BBOX, "min_samples": 10}))
    return sets


def large(sets):
    ways = [
        {"max_extent": "15km", "max_duration": "6h"},
        {"method": "gather", "price": 0.25},
        {"complete_support": True, "price": 0.25},
    ]
    for name, table, given in sets:
        for k in (2, 5):
            for way in ways:
                start = time.process_time()
                release = trajectories.anonymize(table, k, **given, **way)
                seconds = time.process_time() - start
                good, found = check(release, table, k)
                left = release.audit["suppressed_rows"] / release.audit["rows"]
                told = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in found.items())
                print(
                    f"  {name}, k = {k}, {way}: {'as promised' if good else 'BROKEN'}; {left:.1%} suppressed, {told}; "
                    f"{seconds:.0f} s of processor time",
                    flush=True,
                )


def main():
    print("who is in a group of trajectories, from raw rows")
    random_settings()
    large(large_sets())
