"""The report of a release: what it says is in the folder, nothing else is in it, and verify holds it to that."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shapely.geometry import Polygon, box

import flowveil as fv
from flowveil import trajectories
from flowveil._cli.commands import run
from flowveil._folder import Files, Kind, read_files
from flowveil._kinds import RECORDS, report_numbers
from flowveil._report import flows_content, make_inline, make_report, trajectories_content
from flowveil._report.findings import findings
from flowveil._report.flows import told_apart
from flowveil._report.outlines import draw
from flowveil._report.scene import NOWHERE, Key, Scene, Spans
from flowveil._report.shoreline import cut, world_rings
from flowveil._risk import QUICK
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones
from tests.drawing import block, numbers, rows, running

KINDS = ("mosaic", "ward", "elsewhere", "noisy", "cells", "trajectories")


@pytest.fixture(scope="module")
def releases(city_trips, city_zone_trips, tmp_path_factory):
    """Return a folder with one release of each kind, each with a report, and what to verify it against."""
    folder = tmp_path_factory.mktemp("reports")
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, unit="person_id")
    fv.anonymize(flows).write(folder / "mosaic", report=True)
    fv.anonymize(flows, elsewhere=True).write(folder / "elsewhere", report=True)
    zones = city_zone_trips.with_name("zones.parquet")
    by_zone = fv.build_flows(city_zone_trips, zones=str(zones), hierarchy="ward", unit="person_id")
    fv.anonymize(by_zone, "nested").write(folder / "ward", report=True)
    fv.add_noise(fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:7"), epsilon=1.0).write(folder / "noisy", report=True)
    matrix = fv.build_matrix(city_trips, CITY_BBOX, 16)
    fv.add_noise(matrix, "daf-entropy", 1.0).write(folder / "cells", report=True)
    samples = folder / "samples.parquet"
    pq.write_table(phones(40), samples)
    trajectories.anonymize(str(samples), 4, bbox=PHONES_BBOX).write(folder / "trajectories", report=True)
    against = {"mosaic": city_trips, "elsewhere": city_trips, "ward": city_zone_trips, "trajectories": samples}
    return folder, against


def check(releases, kind, folder=None):
    """Verify a release, or a copy of it, as its kind asks for."""
    path, against = folder or releases[0] / kind, releases[1].get(kind)
    if kind == "trajectories":
        return trajectories.verify(path, str(against))
    return fv.verify(path, against)


def copy(releases, kind, target):
    """Copy a release and its private files."""
    for item in releases[0].glob(f"{kind}.*"):
        shutil.copy(item, target / item.name)
    return shutil.copytree(releases[0] / kind, target / kind)


class TestNumbers:
    """What a report says is what the tables of the folder say."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mosaic", "ward", "elsewhere"])
    def test_flows(self, releases, kind):
        """Figures of flows are those that pyarrow counts in the folder."""
        folder = releases[0] / kind
        flows, areas = pq.read_table(folder / "flows.parquet"), pq.read_table(folder / "areas.parquet")

        figures = report_numbers(folder)["figures"]

        assert figures["trips"] == sum(flows["trips"].to_pylist())
        assert figures["flows"] == flows.num_rows
        assert figures["smallest_persons"] == min(flows["persons"].to_pylist())
        assert figures["median_trips"] == pytest.approx(np.median(flows["trips"]), rel=1e-3)
        for side in ("origin", "destination"):
            assert figures[f"{side}_areas"] == areas["side"].to_pylist().count(side)
        rest = [row["trips"] for row in flows.to_pylist() if "elsewhere" in (row["origin"], row["destination"])]
        assert figures.get("elsewhere_trips", 0) == sum(rest)

    @pytest.mark.slow
    def test_sizes_are_geodesic(self, releases):
        """The mean size of areas is what geopandas' projection to equal areas says."""
        import geopandas as gpd

        folder = releases[0] / "mosaic"
        areas = gpd.read_parquet(folder / "areas.parquet").set_crs(4326, allow_override=True)
        areas["km2"] = areas.to_crs("ESRI:54034").area / 1e6
        size = dict(zip(zip(areas["area"], areas["side"], strict=True), areas["km2"], strict=True))
        flows = pq.read_table(folder / "flows.parquet").to_pylist()
        known = [(size[row["origin"], "origin"], row["trips"]) for row in flows]
        known = [(km2, trips) for km2, trips in known if np.isfinite(km2) and km2 > 0]
        expected = sum(km2 * trips for km2, trips in known) / sum(trips for _, trips in known)

        assert report_numbers(folder)["figures"]["origin_km2"] == pytest.approx(expected, rel=0.01)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mosaic", "ward", "trajectories"])
    def test_distribution_of_crowds(self, releases, kind):
        """Every crowd is in the class that holds it, and no class lies below k."""
        folder = releases[0] / kind
        (crowds,) = [part for part in report_numbers(folder)["distributions"] if part["name"] == "crowds"]
        if kind == "trajectories":
            table = pq.read_table(folder / "trajectories.parquet").select(["group", "size"]).to_pylist()
            sizes = list({row["group"]: row["size"] for row in table}.values())
        else:
            sizes = pq.read_table(folder / "flows.parquet")["persons"].to_pylist()

        expected = np.histogram(sizes, [*crowds["bounds"][:-1], crowds["bounds"][-1] - 0.5])[0].tolist()

        assert crowds["amounts"] == expected
        assert sum(crowds["amounts"]) == len(sizes)
        assert crowds["bounds"][0] == crowds["mark"]

    def test_noise(self, releases):
        """Noisy figures are sums of the noisy counts."""
        flows = pq.read_table(releases[0] / "noisy" / "flows.parquet")
        cells = pq.read_table(releases[0] / "cells" / "cells.parquet")

        noisy, boxes = (report_numbers(releases[0] / kind)["figures"] for kind in ("noisy", "cells"))

        assert (noisy["trips"], noisy["flows"]) == (sum(flows["trips"].to_pylist()), flows.num_rows)
        assert (boxes["trips"], boxes["boxes"]) == (sum(cells["count"].to_pylist()), cells.num_rows)
        assert boxes["negative"] == sum(count < 0 for count in cells["count"].to_pylist())

    @pytest.mark.parametrize(("kind", "table", "name"), [("noisy", "flows", "trips"), ("cells", "cells", "count")])
    def test_noise_is_told(self, releases, kind, table, name):
        """The error of the sum is that of independent noise, and the chart of counts drops none of them."""
        counts = pq.read_table(releases[0] / kind / f"{table}.parquet")
        found = report_numbers(releases[0] / kind)

        variance = sum(2 * scale**2 for scale in counts["scale"].to_pylist())
        assert found["figures"]["error"] == pytest.approx(np.log(20) / np.sqrt(2) * np.sqrt(variance), rel=1e-3)
        (chart,) = [part for part in found["distributions"] if part["name"] == "counts"]
        assert sum(chart["amounts"]) == counts.num_rows
        assert chart["bounds"][0] is None
        assert chart["amounts"][0] == sum(count <= 0 for count in counts[name].to_pylist())

    def test_error_holds(self):
        """Noise is below the error in 95 of 100 cases, of one count and of sums."""
        random = np.random.default_rng(1)
        for many in (1, 2, 10, 100):
            sums = random.laplace(0, 3.0, (20_000, many)).sum(axis=1)
            error = np.log(20) / np.sqrt(2) * np.sqrt(many * 2) * 3.0

            assert (np.abs(sums) <= error).mean() > 0.945

    def test_findings(self, releases):
        """The sentences at the top are about the flows of the folder."""
        flows = pq.read_table(releases[0] / "ward" / "flows.parquet").to_pylist()
        strongest = max(flows, key=lambda row: row["trips"])
        by_origin = Counter()
        for row in flows:
            by_origin[row["origin"]] += row["trips"]

        areas = pq.read_table(releases[0] / "ward" / "areas.parquet").to_pylist()
        name = {area["area"]: area["name"] or area["area"] for area in areas}

        first, second, _ = report_numbers(releases[0] / "ward")["findings"]

        assert first.endswith(f": {strongest['trips']:,} trips.")
        assert name[strongest["origin"]] in first
        assert second.startswith(f"From {name[by_origin.most_common(1)[0][0]]}, the busiest origin area")

    def test_findings_tell_how_large_areas_are(self):
        """A name tells of the center of an area of a grid: large ones have their size, also where a flow stays."""
        sizes, names = [111.4, 0.4, 2.34, 1500.0], ["2.8 km NW of A", "0.3 km S of B", "2.8 km NW of A", "C"]
        scene = small_scene(names, sizes, [(0, 1, 50), (0, 0, 30), (0, 2, 10), (0, 3, 10), (1, 1, 20)])
        first, second, _ = findings(scene, grid=True)
        large, other = "an area of 111 km² around 2.8 km NW of A #1", "an area of 2.3 km² around 2.8 km NW of A #2"
        assert first == f"The strongest flow goes from {large} to 0.3 km S of B: 50 trips."
        assert second.startswith(f"From {large}, the busiest origin area, more trips go to 0.3 km S of B (50\xa0%), ")
        assert second.endswith(f"(30\xa0%) and {other} (10\xa0%) than to any other area.")

        stays, everything, _ = findings(small_scene(names[:2], sizes[:2], [(1, 1, 9), (0, 0, 3)]), grid=True)
        assert stays == "The strongest flow stays 0.3 km S of B: 9 trips."
        assert everything == "From 0.3 km S of B, the busiest origin area, trips go to 0.3 km S of B (100\xa0%)."
        assert findings(small_scene(["X"], [50.0], [(0, 0, 9)]))[0] == "The strongest flow stays in X: 9 trips."

    def test_findings_with_time(self):
        """Hours of one pair may be published with other areas: what is added up is told."""
        hour = Key("time", ["07:00", "08:00"], np.array([0, 1, 1]), time=True)
        scene = replace(small_scene(["A", "B"], [1.0, 1.0], [(0, 1, 5), (0, 1, 6), (1, 1, 4)]), keys=(hour,))
        first, _, third = findings(scene)
        told = "Of flows that are published between the same two areas, those from A to B have the most"
        assert first == f"{told}: 11 trips over all."
        assert third == "The busiest time is 08:00: 10 trips, which is 67\xa0% of all."

    @pytest.mark.parametrize(
        ("sizes", "told"),
        [
            ([4, 4, 3], "The largest groups, 2 of 3, have 4 cabs each."),
            ([5, 4, 3], "The largest of 3 groups has 5 cabs, who share 1 sample."),
        ],
    )
    def test_findings_of_groups(self, sizes, told):
        """One group is the largest only where no other has as many users; they are called as the publisher says."""
        groups = np.arange(3)
        scene = small_scene(["X"], [1.0], [(0, NOWHERE, size) for size in sizes])
        spans = Spans(groups, groups * 3_600_000_000, groups * 3_600_000_000)
        assert findings(replace(scene, spans=spans), users="cabs")[0] == told

    @given(rows=st.lists(st.tuples(st.sampled_from(["P", "Q", None]), st.sampled_from("abcde")), max_size=12))
    def test_names_are_told_apart(self, rows):
        """Two areas never have one label, and names of a single area stay as they are."""
        labels = told_apart(*([row[end] for row in rows] for end in (0, 1)))
        seen = {}
        for (name, area), label in zip(rows, labels, strict=True):
            told = name or area
            assert label.removesuffix("".join(label.partition(" #")[1:])) == told
            assert ("#" in label) == (len({other for known, other in rows if (known or other) == told}) > 1)
            assert seen.setdefault(label, area) == area

    def test_description_and_names(self, releases):
        """What the publisher says of the release, and names of its areas, are on the page, as text."""
        files = read_files(releases[0] / "ward")
        areas = files.tables["areas.parquet"]
        names = [f"Place <{number}>" for number in range(areas.num_rows)]
        told = {"title": "Bikes <2024>", "period": "May", "publisher": "City", "unit_label": "bikes"}
        tables = {**files.tables, "areas.parquet": areas.set_column(1, "name", pa.array(names))}

        page = draw_page(replace(files, tables=tables, manifest=files.manifest | {"description": told}))

        assert "<h1>Bikes &lt;2024&gt;</h1>" in page
        assert "different bikes" in page
        assert "<dd>City</dd>" in page
        assert block(page, "drawing")["scene"]["areas"]["label"] == names
        assert "Place <" in block(page, "numbers")["findings"][0]

    def test_trajectories(self, releases):
        """Users are counted once a group."""
        table = pq.read_table(releases[0] / "trajectories" / "trajectories.parquet").to_pylist()
        sizes = {row["group"]: row["size"] for row in table}
        hours = sum((row["t1"] - row["t0"]).total_seconds() / 3600 * row["size"] for row in table)

        figures = report_numbers(releases[0] / "trajectories")["figures"]

        assert figures["users"] == sum(sizes.values())
        assert figures["groups"] == len(sizes)
        assert figures["samples"] == len(table)
        assert figures["hours"] == pytest.approx(hours / sum(row["size"] for row in table), rel=1e-3)

    def test_samples_by_hour(self, releases):
        """The time bar of trajectories spreads every sample evenly over its time."""
        folder = releases[0] / "trajectories"
        table = pq.read_table(folder / "trajectories.parquet").to_pylist()
        bar = block((folder / "report.html").read_text(), "drawing")["scene"]["samples"]
        expected = np.zeros(len(bar["labels"]))
        begin = datetime.fromisoformat(bar["labels"][0])
        for row in table:
            start, end = (
                (row[name].replace(tzinfo=None) - begin).total_seconds() / bar["step"] for name in ("t0", "t1")
            )
            for step in range(len(expected)):
                if end > start:
                    expected[step] += row["size"] * max(0, min(end, step + 1) - max(start, step)) / (end - start)
                elif int(start) == step:
                    expected[step] += row["size"]

        assert bar["amounts"] == pytest.approx(expected.tolist(), rel=1e-3)
        assert sum(bar["amounts"]) == pytest.approx(sum(row["size"] for row in table), rel=1e-3)

    @pytest.mark.parametrize("kind", KINDS)
    def test_json_twin(self, releases, kind, capsys):
        """--json prints the block that stands in the page."""
        folder = releases[0] / kind

        assert run(["report", str(folder), "--json"]) == 0

        assert json.loads(capsys.readouterr().out) == block((folder / "report.html").read_text(), "numbers")

    def test_map_holds_all_flows(self, releases):
        """The drawing lists every flow once, with its own areas and amounts."""
        folder = releases[0] / "mosaic"
        listed = rows((folder / "report.html").read_text())

        found = {(row["origin"], row["destination"], row["trips"], row["persons"]) for row in listed}

        flows = pq.read_table(folder / "flows.parquet").to_pylist()
        assert found == {(row["origin"], row["destination"], row["trips"], row["persons"]) for row in flows}
        assert len(listed) == len(flows)

    def test_keys(self, releases):
        """Columns that divide a release become selectors, and sums by their values are those of the table.

        The manifest says which these are: a group may be called like a column that stands beside noisy counts.
        """
        files = read_files(releases[0] / "mosaic")
        flows = files.tables["flows.parquet"]
        hours, groups = [row % 24 for row in range(flows.num_rows)], ["f", None][: flows.num_rows] * flows.num_rows
        flows = flows.add_column(2, "time", pa.array(hours)).add_column(3, "scale", pa.array(groups[: flows.num_rows]))
        manifest = json.loads(json.dumps(files.manifest))
        manifest["options"] |= {"time": "hour-of-day", "by": ["scale"]}

        page = draw_page(replace(files, tables={**files.tables, "flows.parquet": flows}, manifest=manifest))

        by_time, by_scale = block(page, "numbers")["by"]
        trips = flows["trips"].to_pylist()
        assert by_time["values"][7] == "07:00"
        assert by_time["trips"][7] == sum(trips[7::24])
        assert by_scale["values"] == ["f", "not given"]
        assert by_scale["trips"] == [sum(trips[0::2]), sum(trips[1::2])]
        assert [key["name"] for key in block(page, "drawing")["scene"]["keys"]] == ["time", "scale"]
        assert "--time hour-of-day" in block(page, "numbers")["command"]

    def test_keys_that_are_missing(self, releases):
        """A manifest that tells of columns that are not there is an error that says so."""
        files = read_files(releases[0] / "mosaic")
        manifest = json.loads(json.dumps(files.manifest))

        for by in (["sex"], ["trips", "trips"], "sex", 7):
            manifest["options"]["by"] = by
            with pytest.raises(fv.InputError, match="lacks columns that its manifest tells of"):
                draw_page(replace(files, manifest=manifest))

    @pytest.mark.slow
    def test_totals_are_not_counted_twice(self, city_trips, tmp_path):
        """The group of all groups together can be chosen, but is in no sum of groups."""
        flows = fv.build_flows(city_trips, "h3:7", unit="person_id", by="sex")
        folder = fv.anonymize(flows, totals=True).write(tmp_path / "out", report=True)
        rows = pq.read_table(folder / "flows.parquet").to_pylist()
        groups = [row for row in rows if row["sex"] != "total"]
        assert len(groups) < len(rows)

        numbers = report_numbers(folder)

        assert numbers["figures"]["trips"] == sum(row["trips"] for row in groups)
        assert numbers["figures"]["flows"] == len(groups)
        assert numbers["figures"]["sex_values"] == len({row["sex"] for row in groups})
        (by_sex,) = numbers["by"]
        assert "total" not in by_sex["values"]
        (key,) = block((folder / "report.html").read_text(), "drawing")["scene"]["keys"]
        assert key["values"][key["total"]] == "total"
        assert fv.verify(folder, city_trips).flows == len(rows)

    def test_times_of_different_lengths(self, city_trips, tmp_path):
        """A flow that spans several hours is spread over them, and all hours add up to what is published."""
        time = "hour-of-day<part-of-day<day"
        flows = fv.build_flows(city_trips, "h3:6", hierarchy="h3", unit="person_id", time_hierarchy=time)
        folder = fv.anonymize(flows).write(tmp_path / "out", report=True)
        rows = pq.read_table(folder / "flows.parquet").to_pylist()
        expected = np.zeros(24)
        for row in rows:
            start, end = (0, 24) if row["time"] is None else (row["time"], row["time_end"])
            expected[start:end] += row["trips"] / (end - start)

        (by_time,) = report_numbers(folder)["by"]

        hours = [int(value[:2]) for value in by_time["values"]]
        assert by_time["trips"] == pytest.approx(expected[hours].tolist(), rel=1e-3)
        assert expected.sum() == pytest.approx(expected[hours].sum())


class TestCommand:
    """The command in a report makes the same release, once INPUT is filled in."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mosaic", "ward", "elsewhere"])
    def test_makes_the_same_flows(self, releases, kind, tmp_path):
        """Same bytes of flows."""
        command = report_numbers(releases[0] / kind)["command"]
        against = releases[1][kind]
        filled = {"INPUT": str(against), "DIR": str(tmp_path / "out"), "ZONES": str(against.with_name("zones.parquet"))}

        words = [filled.get(word, word) for word in shlex.split(command)][1:]

        assert run(words) == 0
        assert (tmp_path / "out/flows.parquet").read_bytes() == (releases[0] / kind / "flows.parquet").read_bytes()


class TestVerify:
    """A report is a function of the folder: verify makes it again and compares bytes."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_accepts_its_own(self, releases, kind):
        """A release with a report passes, and verify says that it looked."""
        assert any("report.html" in sentence for sentence in check(releases, kind).checks)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("kind", "old", "new"),
        [
            ("mosaic", '"figures":', '"Figures":'),
            ("mosaic", "</main>", "<p>1 trip was left out</p></main>"),
            ("mosaic", "</html>", "</html> "),
            ("ward", '"use strict";', '"use strict"; '),
            ("noisy", "</main>", "<!-- secret --></main>"),
            ("cells", "</main>", "<!-- secret --></main>"),
            ("trajectories", "</main>", "<!-- secret --></main>"),
        ],
    )
    def test_refuses_another(self, releases, kind, old, new, tmp_path):
        """Anything added or changed is found, wherever it stands."""
        folder = copy(releases, kind, tmp_path)
        page = folder / "report.html"
        assert old in page.read_text()
        page.write_text(page.read_text().replace(old, new, 1))

        with pytest.raises(fv.VerificationError, match=r"report\.html is not what"):
            check(releases, kind, folder)

    @pytest.mark.parametrize("kind", ["mosaic", "cells", "trajectories"])
    def test_refuses_another_version(self, releases, kind, tmp_path):
        """What another version draws cannot be checked, and the hint says what to do."""
        folder = copy(releases, kind, tmp_path)
        page = folder / "report.html"
        page.write_text(re.sub(r'content="flowveil [^"]+"', 'content="flowveil 0.0.1"', page.read_text(), count=1))

        with pytest.raises(fv.VerificationError, match=r"flowveil 0\.0\.1") as raised:
            check(releases, kind, folder)
        assert "flowveil report" in raised.value.hint

    def test_refuses_what_is_no_report(self, releases, tmp_path):
        """Any other page under that name is found."""
        folder = copy(releases, "mosaic", tmp_path)
        (folder / "report.html").write_text("<p>hello</p>")

        with pytest.raises(fv.VerificationError, match="not a report of flowveil"):
            check(releases, "mosaic", folder)

    @pytest.mark.slow
    def test_refuses_the_report_of_other_flows(self, releases, tmp_path):
        """A true report of another release is not the report of this one."""
        folder = copy(releases, "mosaic", tmp_path)
        shutil.copy(releases[0] / "elsewhere" / "report.html", folder / "report.html")

        with pytest.raises(fv.VerificationError, match=r"report\.html"):
            check(releases, "mosaic", folder)


class TestWriting:
    """A report is part of the folder, whole or not there."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_added_later_is_the_same(self, releases, kind, tmp_path):
        """`flowveil report` writes what --report wrote, from a copy that has no private files beside it."""
        folder = shutil.copytree(releases[0] / kind, tmp_path / "alone")
        expected = (folder / "report.html").read_bytes()
        (folder / "report.html").unlink()

        assert run(["report", str(folder)]) == 0

        assert (folder / "report.html").read_bytes() == expected
        assert (folder / "report.html").stat().st_mode & 0o777 == 0o644
        assert sorted(item.name for item in tmp_path.iterdir()) == ["alone"]

    def test_failing_report_leaves_nothing(self, city_trips, tmp_path, monkeypatch):
        """When the report cannot be made, there is no folder either."""

        def fail(_show, _files, *, ground):
            raise MemoryError(ground)

        monkeypatch.setattr("flowveil._report.content.make_report", fail)
        release = fv.anonymize(fv.build_flows(city_trips, "h3:6", unit="person_id"))

        with pytest.raises(MemoryError):
            release.write(tmp_path / "out", report=True)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    def test_command_line(self, city_trips, tmp_path):
        """--report adds the file; without it there is none."""
        for name, more in (("with", ["--report"]), ("without", [])):
            assert run(["anonymize", str(city_trips), "-o", str(tmp_path / name), "--grid", "h3:7", *more]) == 0

        assert (tmp_path / "with" / "report.html").is_file()
        assert not (tmp_path / "without" / "report.html").exists()

    @pytest.mark.parametrize("content", [{}, {"manifest.json": "{}"}, {"manifest.json": "[", "flows.parquet": "x"}])
    def test_not_a_release(self, content, tmp_path, capsys):
        """A folder of anything else is bad input."""
        for name, text in content.items():
            (tmp_path / name).write_text(text)

        assert run(["report", str(tmp_path)]) == 2
        assert capsys.readouterr().err.startswith("error: ")


class TestPrivate:
    """What was lost is written beside the folder, for its owner's eyes."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["mosaic", "ward", "elsewhere", "noisy", "cells", "trajectories"])
    def test_every_kind(self, releases, kind, tmp_path, city_trips):
        """It is beside the folder, says what it is, and leaves the folder as it was."""
        folder = copy(releases, kind, tmp_path)
        before = {item.name: item.read_bytes() for item in folder.iterdir()}
        against = releases[1].get(kind, city_trips)

        assert run(["report", str(folder), "--against", str(against)]) == 0

        beside = tmp_path / f"{kind}.private.html"
        assert beside.stat().st_mode & 0o777 == 0o600
        assert '<html lang="en" data-look="private">' in beside.read_text()
        assert block(beside.read_text(), "drawing")["private"]["tables"]
        assert {item.name: item.read_bytes() for item in folder.iterdir()} == before

    @pytest.mark.slow
    def test_metrics(self, releases, tmp_path):
        """It shows what `evaluate` measures, the chosen point of the frontier among them."""
        folder = copy(releases, "mosaic", tmp_path)

        page = fv.report(folder, releases[1]["mosaic"]).read_text()

        expected = fv.evaluate(folder, releases[1]["mosaic"])
        found = block(page, "drawing")["private"]
        _, *measured = found["tables"]  # first how much of the input is in it, then what `evaluate` measures
        rows = {name: text for table in measured for name, text, _ in table["rows"]}
        assert float(rows["gbar"].replace(",", "")) == pytest.approx(expected["gbar"], rel=1e-3)
        assert found["chosen"] == [expected["suppressed"], expected["gbar"]]
        assert found["risk"] == fv.risk(folder, releases[1]["mosaic"], attacks=QUICK).in_full() != []
        assert all(meaning for table in measured for _, _, meaning in table["rows"])
        shares = [share for share, _ in found["frontier"]]
        assert min(shares) <= expected["suppressed"] <= max(shares)

    @pytest.mark.slow
    def test_left_out_by_hour(self, releases, tmp_path):
        """Shares by hour, weighted with the trips of each, are what the audit says was left out."""
        folder = copy(releases, "mosaic", tmp_path)
        hours = Counter(time.hour for time in pq.read_table(releases[1]["mosaic"])["start_time"].to_pylist())

        page = fv.report(folder, releases[1]["mosaic"]).read_text()

        (part,) = block(page, "drawing")["private"]["left_out"]
        lost = sum(share * hours[int(value[:2])] for share, value in zip(part["shares"], part["values"], strict=True))
        audit = json.loads((tmp_path / "mosaic.audit.json").read_text())
        assert lost == pytest.approx(audit["suppressed_trips"])

    @pytest.mark.slow
    def test_left_out_by_group(self, city_trips, tmp_path):
        """A release by group shows the share of each."""
        flows = fv.build_flows(city_trips, "h3:7", hierarchy="h3", unit="person_id", by="sex")
        folder = fv.anonymize(flows).write(tmp_path / "out")
        kept = Counter()
        for row in pq.read_table(folder / "flows.parquet").to_pylist():
            kept[row["sex"]] += row["trips"]
        every = Counter(pq.read_table(city_trips)["sex"].to_pylist())

        page = fv.report(folder, city_trips).read_text()

        (part,) = block(page, "drawing")["private"]["left_out"]
        expected = {value: 1 - kept[value] / count for value, count in every.items()}
        assert dict(zip(part["values"], part["shares"], strict=True)) == pytest.approx(expected)

    @pytest.mark.slow
    def test_before_and_after(self, releases, tmp_path):
        """Before are the true trips of tiles, as h3 says; after is the release alone."""
        import h3

        folder = copy(releases, "mosaic", tmp_path)
        trips = pq.read_table(releases[1]["mosaic"])
        starts = zip(trips["start_lat"].to_pylist(), trips["start_lon"].to_pylist(), strict=True)
        expected = Counter(h3.latlng_to_cell(lat, lon, 7) for lat, lon in starts)

        page = fv.report(folder, releases[1]["mosaic"]).read_text()

        maps = block(page, "drawing")["private"]["maps"]
        origins = [
            trips for trips, side in zip(numbers(maps["before"]), running(maps["side"]), strict=True) if side == 0
        ]
        assert sorted(origins) == sorted(expected.values())
        assert 0 < maps["distance"][0] < 1

    def test_json_is_not_for_private_figures(self, releases, capsys):
        """--json prints what is safe to publish, and nothing else."""
        assert run(["report", str(releases[0] / "mosaic"), "--against", "x", "--json"]) == 2
        assert "--against" in capsys.readouterr().err


class Page(HTMLParser):
    """Collects what a page would load, and its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        """Note a tag."""
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href", "srcset", "action", "data")]


class TestSafety:
    """A report loads nothing, runs nothing but its own program, and tells nothing that is not in the folder."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_loads_nothing(self, releases, kind):
        """No address but the name of SVG, and a policy that forbids the rest."""
        text = (releases[0] / kind / "report.html").read_text()
        page = Page(text)

        assert page.links == ["#map-section"]
        assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert "default-src 'none'" in text
        assert page.tags.count("script") == 3
        assert not re.search(r"@import|url\(", text)

    @pytest.mark.slow
    def test_hostile_names(self, city_zone_trips, tmp_path):
        """Names of zones are text, whatever they contain."""
        nasty = '</script><script>alert("x")</script><!--\u2028&'
        trips = pq.read_table(city_zone_trips)
        zones = pq.read_table(city_zone_trips.with_name("zones.parquet"))
        ((busiest, _),) = Counter(trips["origin"].to_pylist()).most_common(1)
        rename = {busiest: nasty}
        trips = pa.table(
            {
                name: [rename.get(value, value) for value in trips[name].to_pylist()]
                for name in ("origin", "destination", "person_id")
            }
        )
        zones = zones.set_column(
            0, "zone_id", pa.array([rename.get(value, value) for value in zones["zone_id"].to_pylist()])
        )
        flows = fv.build_flows(trips, zones=zones, hierarchy=["zone_id", "district", "region"], unit="person_id")
        release = fv.anonymize(flows, "mosaic", 2)
        release.write(tmp_path / "out", report=True)

        text = (tmp_path / "out" / "report.html").read_text()

        assert f"zone_id={nasty}" in release.areas["area"].to_pylist()
        assert "alert(" not in text.replace('alert(\\"x\\")', "").replace("alert(&quot;x&quot;)", "")
        assert Page(text).tags.count("script") == 3
        assert any(nasty in name for name in block(text, "drawing")["scene"]["areas"]["id"])

    @pytest.mark.slow
    def test_canaries(self, city_trips, tmp_path):
        """Nothing of the input but what is in the release: no ids, columns, file names, conditions, lone trips."""
        table = pq.read_table(city_trips)
        table = table.append_column("CANARYcolumn", pa.array(["CANARYvalue"] * table.num_rows))
        lone = {name: table[name][0].as_py() for name in table.column_names}
        lone |= {"person_id": "CANARYperson", "start_lon": 4.4123457, "start_lat": 50.2698765}
        table = pa.concat_tables([table, pa.Table.from_pylist([lone], table.schema)])
        home = tmp_path / "CANARYfolder"
        home.mkdir()
        trips = home / "CANARYfile.parquet"
        pq.write_table(
            table.rename_columns([name.replace("start_", "CANARYstart_") for name in table.column_names]), trips
        )
        words = ["anonymize", str(trips), "-o", str(home / "out"), "--report", "--unit", "person_id", "--grid", "h3:7"]
        words += ["--columns", "start_lon=CANARYstart_lon,start_lat=CANARYstart_lat"]
        words += ["--where", "CANARYcolumn = 'CANARYvalue'", "--bbox", "4.4,50.26,4.82,50.53"]
        assert run(words) == 0

        text = (home / "out" / "report.html").read_text()

        assert "canary" not in text.lower()
        assert not re.search(r"4\.4123|4123457|50\.2698|2698765|44123[45]|502698[78]", text)
        audit = json.loads((home / "out.audit.json").read_text())
        assert "CANARY" in json.dumps(audit)
        told = set(re.findall(r"[\d.]+", json.dumps(block(text, "numbers"))))
        assert not told & {str(audit[name]) for name in ("trips", "suppressed_trips", "suppressed")}

    @pytest.mark.slow
    def test_depends_on_the_folder_alone(self, releases, tmp_path):
        """A copy elsewhere, with nothing beside it and under another name, gives the same bytes."""
        for kind in KINDS:
            shutil.copytree(releases[0] / kind, tmp_path / kind / "other name")
            expected = (tmp_path / kind / "other name" / "report.html").read_text()

            assert draw_page(read_files(tmp_path / kind / "other name")) == expected


ROOT = Path(__file__).parent.parent
ASSETS = ROOT / "src" / "flowveil" / "_report" / "assets"


class TestProgram:
    """The program of the page that is committed is the one that web/map builds."""

    def test_up_to_date(self):
        """It holds the hash of its sources; if not: `npm ci && npx tsc -p map && node map/build.mjs` in web/."""
        digest = hashlib.sha256()
        for path in sorted((ROOT / "web" / "map").iterdir()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")

        assert digest.hexdigest() in (ASSETS / "report.js").read_text(encoding="utf-8").splitlines()[0]

    @pytest.mark.skipif(not (ROOT / "web" / "node_modules").exists(), reason="needs npm ci in web/")
    def test_builds_the_same(self, tmp_path):
        """A new build gives the same bytes, and its types are right."""
        web = ROOT / "web"
        subprocess.run(["node", web / "node_modules" / "typescript" / "bin" / "tsc", "-p", web / "map"], check=True)
        subprocess.run(["node", web / "map" / "build.mjs", tmp_path], check=True)

        assert (tmp_path / "report.js").read_bytes() == (ASSETS / "report.js").read_bytes()

    def test_small(self):
        """Program and style of a page stay below 100 kB."""
        assert sum((ASSETS / name).stat().st_size for name in ("report.js", "style.css", "page.html")) < 100_000


class TestSize:
    """A report stays small enough to send by mail."""

    @pytest.mark.slow
    def test_five_thousand_areas(self):
        """5,000 detailed areas and 100,000 of more flows fit into three megabytes, and the rest is owned up to."""
        files = large_release(areas=2_500, flows=120_000, corners=40)
        trips = files.tables["flows.parquet"]["trips"].to_pylist()

        page = draw_page(files)

        scene = block(page, "drawing")["scene"]
        listed = rows(page)
        assert len(page.encode()) < 3_000_000
        assert len(scene["areas"]["id"]) == 5_000
        assert (scene["movements"], len(listed)) == (120_000, 100_000)
        assert min(row["trips"] for row in listed) >= np.sort(trips)[-100_000]
        for others in scene["others"]:
            assert sum(numbers(others["amount"])) == sum(trips) - sum(row["trips"] for row in listed)
            assert sum(numbers(others["movements"])) == 20_000

    @pytest.mark.slow
    def test_quiet_hours_are_listed_too(self):
        """Every hour lists as many of its strongest flows as any other, and totals count all."""
        files = large_release(areas=400, flows=120_000, corners=4)
        flows = files.tables["flows.parquet"]
        hours = np.repeat(np.arange(5), [50_000, 48_000, 21_000, 900, 100])
        files.manifest["options"]["time"] = "hour-of-day"
        flows = flows.append_column("time", pa.array(hours))

        page = draw_page(replace(files, tables={**files.tables, "flows.parquet": flows}))

        listed = Counter(row["time"] for row in rows(page))
        assert listed == {"00:00": 39_000, "01:00": 39_000, "02:00": 21_000, "03:00": 900, "04:00": 100}
        matrices = block(page, "drawing")["scene"]["matrices"]
        trips = flows["trips"].to_numpy()
        assert matrices["amounts"] == [int(trips[hours == hour].sum()) for hour in range(5)]
        (key,) = block(page, "drawing")["scene"]["keys"]
        assert len(key["values"]) == 24  # an hour without a flow is on the time bar as well


def small_scene(names, sizes, flows):
    """Return a scene of squares of so many km2, on both sides, with flows: origin, destination, trips."""
    degrees = np.sqrt(np.array(sizes)) / 111.32
    shapes = np.array([shapely.box(-side / 2, -side / 2, side / 2, side / 2) for side in degrees], object)
    count, nothing = len(names), np.zeros(2 * len(names))
    origin, destination, trips = np.array(flows, np.int64).T
    ids = [f"area {number}" for number in range(count)]
    return Scene(
        sides=("origin", "destination"),
        names=ids * 2,
        side=np.repeat([0, 1], count),
        lon=nothing,
        lat=nothing,
        tiles=None,
        shapes=np.concatenate([shapes, shapes]),
        origin=origin,
        destination=np.where(destination == NOWHERE, NOWHERE, destination + count),
        amounts={"trips": trips},
        labels=told_apart(names * 2, ids * 2),
    )


def large_release(areas, flows, corners):
    """Return the files of a made-up release with round areas on both sides."""
    side = int(np.ceil(np.sqrt(areas)))
    row, column = np.divmod(np.arange(areas), side)
    lon, lat = 4.0 + column * 0.02, 50.0 + row * 0.013
    turn = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    rings = np.stack([lon[:, None] + 0.009 * np.cos(turn), lat[:, None] + 0.006 * np.sin(turn)], axis=-1)
    shapes = shapely.to_wkb(shapely.polygons(rings)).tolist()
    names = [f"zone={number:05}" for number in range(areas)]
    both = [name for _ in range(2) for name in names]
    random = np.random.default_rng(0)
    pairs = np.sort(random.choice(areas * areas, flows, replace=False))
    trips = 10 + random.pareto(1.2, flows).astype(np.int64) * 3
    table = {
        "area": both,
        "side": ["origin"] * areas + ["destination"] * areas,
        "lon": np.tile(lon, 2),
        "lat": np.tile(lat, 2),
        "tiles": np.ones(2 * areas, np.int64),
        "geometry": shapes * 2,
    }
    origin, destination = ([names[number] for number in part.tolist()] for part in np.divmod(pairs, areas))
    manifest = {
        "format": "flowveil-flows/1",
        "software": "flowveil 0.1.0",
        "method": "mosaic",
        "options": {"grid": None, "hierarchy": "ward"},
        "promise": {"kind": "k-anonymity", "k": 10, "unit": "trip", "volumes": "exact", "areas": "disjoint"},
        "promise_text": "Every flow counts at least 10 trips.",
        "absence": "Nothing.",
    }
    flows = pa.table({"origin": origin, "destination": destination, "trips": trips})
    return Files(Kind.FLOWS, {"flows.parquet": flows, "areas.parquet": pa.table(table)}, manifest)


def draw_page(files):
    """Return the report of the files of a release."""
    return make_report(RECORDS[files.kind].show, files)


_COORDINATES = st.integers(-10_000_000, 10_000_000)  # in 200,000ths of a degree: half a meter


class TestDrawing:
    """Outlines and land stay where they are."""

    @settings(max_examples=60, deadline=None)
    @example([(0, 0), (0, 1), (10_000_000, 0)], 0.05)
    @example([(0, 0), (1, 1), (0, 1)], 0.05)
    @given(
        st.lists(st.tuples(_COORDINATES, _COORDINATES), min_size=3, max_size=30, unique=True),
        st.sampled_from([0.05, 1.0, 40.0]),
    )
    def test_outlines_are_true_to_a_step(self, points, extent):
        """An outline, drawn and read back, nowhere leaves the original by more than a step."""
        shape = shapely.convex_hull(shapely.MultiPoint([(x / 200_000, y / 200_000) for x, y in points]))
        if shape.geom_type != "Polygon":
            return
        shapes = np.empty(1, object)
        shapes[0] = shape

        step, outlines, number = draw(shapes, extent)

        (ring,) = outlines[number[0]][:1]
        corners = np.cumsum(np.array(ring).reshape(-1, 2), axis=0) * step
        again = shapely.Polygon(corners) if len(corners) > 2 else shapely.MultiPoint(corners)
        assert shapely.hausdorff_distance(again, shape) <= 1.5 * step

    def test_neighbors_share_an_outline(self):
        """Equal shapes are listed once; none is -1."""
        shapes = np.array([box(0, 0, 1, 1), None, box(0, 0, 1, 1)], object)

        _, outlines, number = draw(shapes, 1.0)

        assert number == [0, -1, 0]
        assert len(outlines) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "view", [(5, 43, 7, 45), (-123.5, 37, -121.5, 38.5), (4.4, 50.2, 4.8, 50.6), (170, -50, 180, -30)]
    )
    def test_land_is_cut_as_shapely_cuts_it(self, view):
        """The land of a view has the same shape as what shapely cuts out of the whole."""
        step = 1e-9

        found = _even_odd(cut(world_rings(), list(view), step, near=list(view), fine=step))

        near = [ring for ring, bounds in world_rings() if box(*bounds).intersects(box(*view))]
        expected = _even_odd(near, box(*view))
        assert found.symmetric_difference(expected).area <= 1e-4 * box(*view).area

    def test_land_covers_as_much_of_the_globe_as_it_should(self):
        """Rings that cross the 180th meridian or hold a pole are closed the right way: 29 % of the globe is land."""
        draws = np.random.default_rng(0).uniform(-1, 1, (4_000, 2))
        lon, lat = 180 * draws[:, 0], np.degrees(np.arcsin(draws[:, 1]))  # equal areas get as many

        assert _is_land(lon, lat).mean() == pytest.approx(0.292, abs=0.02)

    def test_cities_stand_on_land_and_lakes_are_water(self):
        """Brooklyn and Jersey City are not in the sea, and Lake Michigan is one."""
        dry = {"Brooklyn": (-73.95, 40.65), "Jersey City": (-74.06, 40.72), "Loop": (-87.632, 41.88)}
        wet = {"Hudson": (-74.018, 40.75), "Lake Michigan": (-87.55, 41.88), "Bay": (-122.35, 37.75)}
        wet |= {"Lake Geneva": (6.4, 46.42), "East River": (-73.963, 40.73)}
        lon, lat = np.array([*dry.values(), *wet.values()]).T

        assert _is_land(lon, lat).tolist() == [True] * len(dry) + [False] * len(wet)


def _is_land(lon, lat):
    """Return which points an odd number of rings hold."""
    shapes = [Polygon(ring) for ring, _ in world_rings()]
    points = shapely.points(lon, lat)
    ring, point = shapely.STRtree(points).query(shapes)
    held = [shapely.contains_xy(shapes[r], lon[p], lat[p]) for r, p in zip(ring, point, strict=True)]
    return np.bincount(point, held, len(lon)) % 2 == 1


def _even_odd(rings, window=None):
    """Fill rings by the even-odd rule, inside a window if there is one, with shapely."""
    filled = shapely.Polygon()
    for ring in rings:
        part = shapely.make_valid(Polygon(ring))
        filled = filled.symmetric_difference(part if window is None else part.intersection(window))
    return filled


class TestNotebook:
    """Releases and frontiers show themselves."""

    def test_release(self, releases):
        """A release is a frame with a page of its own, which holds the same numbers and loads nothing."""
        release = fv.read_release(releases[0] / "mosaic")

        html = release._repr_html_()

        inner = dict(Frame(html).attributes)["srcdoc"]
        assert block(inner, "numbers")["figures"]["flows"] == release.flows.num_rows
        assert "default-src 'none'" in inner
        assert html == make_inline(flows_content, read_files(releases[0] / "mosaic"))

    @pytest.mark.slow
    def test_other_releases(self, releases, city_trips):
        """Noise and trajectories are shown as well."""
        noisy = fv.add_noise(fv.build_matrix(city_trips, CITY_BBOX, 8), "uniform", 1.0)
        paths = trajectories.read_release(releases[0] / "trajectories")

        assert "Published counts" in noisy._repr_html_()
        assert paths._repr_html_() == make_inline(trajectories_content, read_files(releases[0] / "trajectories"))

    def test_frontier(self, city_trips):
        """A frontier is used as a table and draws a chart."""
        import pandas as pd

        frontier = fv.frontier(fv.build_flows(city_trips, "h3:6"), points=5)

        assert pa.table(frontier).equals(frontier.table)
        assert frontier.to_pandas().equals(pd.DataFrame(frontier.to_pylist()))
        assert len(frontier) == frontier.num_rows == len(frontier["gbar"])
        assert frontier._repr_html_().startswith("<svg")
        assert frontier._repr_html_().count("<circle") == len(frontier)
        assert "trips left out" in repr(frontier)


class Frame(HTMLParser):
    """The attributes of the first tag."""

    def __init__(self, text):
        super().__init__()
        self.attributes = []
        self.feed(text)

    def handle_starttag(self, _tag, attributes):
        """Note the attributes."""
        self.attributes = self.attributes or attributes
