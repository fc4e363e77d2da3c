"""Table 2 of the GLOVE paper: glove, without and with thresholds, beside the older methods, with their own metrics.

python -m benchmarks table2 prints the tables of docs/trajectories-measured.md.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import process_time

import pyarrow.parquet as pq

from benchmarks.thresholds import THRESHOLDS
from benchmarks.trajectories import CHECKINS, CHECKINS_BBOX
from flowveil import trajectories
from flowveil.synthetic import PHONES_BBOX, phones

HEAD = (
    "| {name} | discarded users | created samples | deleted samples | mean extent | mean duration | position error "
    "| time error | Omega | ID a sample | discernibility | unsupported |\n" + "|---" * 12 + "|"
)


def main():
    if CHECKINS.is_file():
        table(f"{'Gowalla NYC'}", pq.read_table(CHECKINS), bbox=CHECKINS_BBOX, min_samples=10)
    table("2,000 phone users", phones(2000), bbox=PHONES_BBOX)


def table(name, samples, **reading):
    print(HEAD.format(name=name))
    bbox = reading.pop("bbox")
    data = trajectories.read_trajectories(samples, bbox, **reading)
    for k in (2, 5):
        for title, options in (("", {}), (", no reshape", {"reshape": False}), (", with thresholds", THRESHOLDS)):
            print(published(f"glove, k = {k}{title}", data, samples, k, options))
        for method in trajectories.BASELINES:
            print(older(data, method, k))


def published(title, data, samples, k, options):
    start = process_time()
    release = trajectories.anonymize(data, k, **options)
    seconds = process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        out = release.write(Path(folder) / "out")
        trajectories.verify(out, samples)
        figures = trajectories.evaluate(out, samples).figures()
    lost = figures["users"] - figures["released_users"]
    return row(title, lost, 0, figures["suppressed"], figures, figures["unsupported"], seconds)


def older(data, method, k):
    start = process_time()
    figures = trajectories.baseline(data, method, k).figures()
    seconds = process_time() - start
    created, deleted = (figures[name] / figures["samples"] for name in ("created", "deleted"))
    return row(f"{method}, k = {k}", figures["discarded_users"], created, deleted, figures, None, seconds)


def row(title, lost, created, deleted, figures, unsupported, seconds):
    distortion = figures["distortion"]
    extent = f"{figures['extent']['mean'] / 1000:.1f} km" if "extent" in figures else ""
    cells = [
        title,
        f"{lost:,}",
        f"{created:.0%}" if created else "0",
        f"{deleted:.1%}" if deleted else "0",
        extent,
        span(figures["duration"]["mean"]) if "duration" in figures else "",
        f"{(figures['position_error']['mean'] or 0) / 1000:.2f} km",
        span(figures["time_error"]["mean"] or 0),
        f"{distortion['omega'] / 1000:.1f} km",
        f"{distortion['information_mean'] / 1000:.2f} km",
        f"{distortion['discernibility']:,}",
        "" if unsupported is None else f"{unsupported:.0%}",
    ]
    return f"| {' | '.join(cells)} |  <!-- {seconds:.0f} s -->"


def span(minutes):
    return f"{minutes:.0f} min" if minutes < 2880 else f"{minutes / 1440:.1f} days"
