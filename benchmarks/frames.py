"""How long a frame of the map takes while it is moved, without a graphics card.

python -m benchmarks frames prints the rows of docs/report.md "How quick it is". Milliseconds from frame to frame
depend on what else the machine does; processor time, of all processes of the browser, does not.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import sync_playwright
from tests.test_report import draw_page, large_release

from flowveil import trajectories
from flowveil._folder import Files, Kind
from flowveil.synthetic import PHONES_BBOX, phones

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
VIEW = {"width": 1280, "height": 900}
FRAMES = 90
PAN = """(frames) => new Promise((done) => {
    const took = [];
    let last = performance.now();
    const step = () => {
        const now = performance.now();
        took.push(now - last);
        last = now;
        flowveil.map.pan(4, 2);
        if (took.length > frames) done(took.slice(1).sort((a, b) => a - b));
        else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""


def main():
    print("a frame while the map moves, ms: median, slowest of twenty, processor time")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        flows = Path(folder) / "flows.html"
        flows.write_text(draw_page(large_release(areas=5_000, flows=27_000, corners=7)))
        paths = Path(folder) / "paths.html"
        paths.write_text(draw_page(large_paths(Path(folder), groups=2_000, samples=30)))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport=VIEW)
        page.goto(flows.as_uri())
        for name, change in (
            ("density", "{layer: 'density'}"),
            ("2,000 lines", "{layer: 'flows', lines: 2000}"),
            ("published areas", "{layer: 'areas'}"),
        ):
            page.evaluate(f"flowveil.explorer.change({change})")
            measure(page, f"5,000 areas a side, 27,000 flows, {name}")
        page.goto(paths.as_uri())
        groups = page.evaluate("new Set(flowveil.scene.samples.group).size")
        measure(page, f"{groups:,} groups of trajectories")
        browser.close()


def large_paths(folder, groups, samples):
    """Return the files of a made-up release of trajectories: boxes of a kilometer or two, an hour or two each."""
    pq.write_table(phones(20), folder / "samples.parquet")
    written = trajectories.anonymize(str(folder / "samples.parquet"), 4, bbox=PHONES_BBOX).write(folder / "paths")
    manifest = json.loads((written / "manifest.json").read_text())
    schema = pq.read_schema(written / "trajectories.parquet")
    random = np.random.default_rng(0)
    count = groups * samples
    start = np.sort(random.integers(0, 14 * 24 * 60, (groups, samples)), axis=1).ravel() * 60_000_000
    west, south = 4.3 + 0.4 * random.random(count), 50.7 + 0.3 * random.random(count)
    columns = {
        "group": np.repeat(np.arange(groups), samples),
        "size": np.repeat(random.integers(4, 9, groups), samples),
        "t0": 1_709_510_400_000_000 + start,
        "t1": 1_709_510_400_000_000 + start + random.integers(30, 150, count) * 60_000_000,
        "lon0": west,
        "lat0": south,
        "lon1": west + 0.01 + 0.02 * random.random(count),
        "lat1": south + 0.01 + 0.02 * random.random(count),
    }
    table = pa.table({field.name: pa.array(columns[field.name]).cast(field.type) for field in schema})
    return Files(Kind.TRAJECTORIES, {"trajectories.parquet": table}, manifest)


def measure(page, name):
    """Print what frames take."""
    page.wait_for_timeout(500)
    whole = page.evaluate("flowveil.drawn()")
    before = processor_time()
    took = page.evaluate(PAN, FRAMES)
    spent = 1000 * (processor_time() - before) / FRAMES
    slow = took[int(0.95 * len(took))]
    print(f"  {name}: {took[len(took) // 2]:.0f}, {slow:.0f}, {spent:.0f} (drawn anew, when it rests: {whole:.0f})")


def processor_time():
    """Return seconds of processor time of all processes that this one started."""
    return sum(sum(process.cpu_times()[:2]) for process in psutil.Process().children(recursive=True))


if __name__ == "__main__":
    main()
