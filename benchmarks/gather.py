"""gather against GLOVE with thresholds, at the same share of samples kept: check-ins and phones, k = 2 and 5.

python -m benchmarks gather prints the rows of docs/trajectories-measured.md. Every release is verified, and counted
again from raw rows by `benchmarks.recount`.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.recount import recount
from benchmarks.thresholds import THRESHOLDS
from benchmarks.trajectories import CHECKINS, CHECKINS_BBOX
from flowveil import trajectories
from flowveil.synthetic import PHONES_BBOX, phones


def measure(name, data, table, k, **options):
    """Print what a method gives, and return the share of samples that it leaves out."""
    start = time.process_time()
    release = trajectories.anonymize(data, k, **options)
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        out = release.write(Path(folder) / "out")
        trajectories.verify(out, table)
        figures = trajectories.evaluate(out, table).figures()
        found = recount(out, table)
    audit = release.audit
    tasks = ", ".join(f"{task} {values['median']:.3g}" for task, values in figures["tasks"].items())
    after = {points: shares["after"] for points, shares in figures["unicity"].items()}
    nobody = ", ".join(f"{after[points]['none']:.1%}" for points in ("1", "2", "4", "6"))
    extent, position = (figures[error]["mean"] / 1000 for error in ("extent", "position_error"))
    print(
        f"  {name}, k = {k}: {figures['released_users']:,} of {audit['users']:,} users, "
        f"{1 - audit['suppressed_rows'] / audit['rows']:.2%} of rows kept, "
        f"extent {extent:.2f} km, duration {figures['duration']['mean']:.0f} min, "
        f"position error {position:.2f} km, time error {figures['time_error']['mean']:.0f} min, "
        f"unsupported {figures['unsupported']:.1%}; {seconds:.0f} s of processor time\n"
        f"    median errors of tasks: {tasks}\n"
        f"    nobody fits 1, 2, 4, 6 known points: {nobody}; "
        f"exactly one: {max(shares['one'] for shares in after.values()):.1%}\n"
        f"    from raw rows: fewest users of a group {found['fewest']}, wrong sizes {found['wrong_sizes']}, samples "
        f"without a row of every member {found['not_all_seen']:,} of {found['samples']:,}",
        flush=True,
    )
    return audit["suppressed_rows"] / audit["rows"]


def main():
    print("gather against GLOVE with thresholds, at the same share of samples kept")
    sets = [("2,000 phones", phones(2000), {"bbox": PHONES_BBOX})]
    if CHECKINS.is_file():
        table = pq.read_table(CHECKINS, columns=["user_id", "lon", "lat", "time"])
        sets.insert(0, ("Gowalla NYC", table, {"bbox": CHECKINS_BBOX, "min_samples": 10}))
    for name, table, given in sets:
        data = trajectories.read_trajectories(table, **given)
        for k in (2, 5):
            left = measure(f"{name}, glove with thresholds", data, table, k, **THRESHOLDS)
            measure(f"{name}, gather", data, table, k, method="gather", max_suppression=left)
            measure(f"{name}, glove, exact choice", data, table, k, complete_support=True, max_suppression=left)
    for name, table, given in sets:
        data = trajectories.read_trajectories(table, **given)
        for k in (2, 5):
            print(f"  frontier of gather, {name}, k = {k}")
            for row in trajectories.frontier(data, k).to_pylist():
                print(
                    f"    price {row['price']:.3f}: {1 - row['suppressed']:.1%} kept, {row['extent'] / 1000:.2f} km, "
                    f"{row['duration']:.0f} min, {row['users']:,} users",
                    flush=True,
                )
