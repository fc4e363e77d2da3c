"""Every kind of release is read, verified, measured and shown by the same functions; what one cannot do is said."""

from __future__ import annotations

import json
import shutil

import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._folder import Kind, find_kind, kind_of
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones, write_city
from flowveil.trajectories import TrajectoryRelease, anonymize, read_release, verify

CLASSES = {
    "flows": fv.Release,
    "noisy_flows": fv.NoisyRelease,
    "cells": fv.NoisyRelease,
    "trajectories": TrajectoryRelease,
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Write a release of each kind, and what it was made from."""
    folder = tmp_path_factory.mktemp("kinds")
    trips, samples = folder / "trips.parquet", folder / "samples.parquet"
    write_city(trips, trips=3_000, persons=200)
    pq.write_table(phones(12), samples)
    fv.anonymize(fv.build_flows(trips, "h3:7", unit="person_id"), k=5).write(folder / "flows")
    fv.add_noise(fv.build_tile_matrix(trips, CITY_BBOX, "h3:6"), epsilon=1.0).write(folder / "noisy_flows")
    fv.add_noise(fv.build_matrix(trips, CITY_BBOX, 8), "uniform").write(folder / "cells")
    anonymize(samples, k=2, bbox=PHONES_BBOX, step="1km,30min").write(folder / "trajectories")
    return folder


def source(folder, kind):
    """Return what a release of a kind was made from."""
    return folder / ("samples.parquet" if kind == "trajectories" else "trips.parquet")


def verify_beside(folder):
    """Verify flows beside a release."""
    return fv.verify(folder.parent / "flows", source(folder.parent, "flows"), beside=folder)


@pytest.mark.parametrize("kind", CLASSES)
class TestEveryKind:
    """What can be done with any release."""

    @pytest.mark.slow
    def test_kind(self, releases, kind):
        """The manifest says which kind a folder is of."""
        assert find_kind(releases / kind) is Kind[kind.upper()]

    @pytest.mark.slow
    def test_read(self, releases, kind):
        """A folder is read as the class of its kind, with what was written."""
        release = fv.read_release(releases / kind)

        assert type(release) is CLASSES[kind]
        assert release.manifest == json.loads((releases / kind / "manifest.json").read_text())
        assert "<iframe" in release._repr_html_()

    def test_repr(self, releases, kind):
        """What a terminal or a notebook shows of a release holds nothing private, fresh or read back."""
        members = releases / "trajectories.members.parquet"
        shown = repr(fv.read_release(releases / kind))

        assert shown.startswith(f"<{CLASSES[kind].__name__}: ")
        assert not any(user in shown for user in pq.read_table(members)["user_id"].to_pylist())
        assert "sha256" not in shown

    @pytest.mark.slow
    def test_verify(self, releases, kind, capsys):
        """It verifies in Python and on the command line."""
        proof = fv.verify(releases / kind, source(releases, kind))

        assert proof.checks
        assert run(["verify", str(releases / kind), "--against", str(source(releases, kind))]) == 0
        assert "verified" in capsys.readouterr().out

    @pytest.mark.slow
    def test_evaluate(self, releases, kind, capsys):
        """Figures are numbers by name, the same on the command line; there they can be read, too."""
        figures = fv.evaluate(releases / kind, source(releases, kind))

        command = ["evaluate", str(releases / kind), "--against", str(source(releases, kind))]
        assert run([*command, "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(figures))
        assert run(command) == 0
        out, err = capsys.readouterr()
        assert all(name in out for name in figures if name not in {"population", "units"})
        assert all(f"({unit})" in out for unit in figures.get("units", {}).values())  # behind what they belong to
        assert "keep them private" in err

    @pytest.mark.slow
    def test_report(self, releases, kind):
        """The public page is written into the folder, and the release verifies with it; the private one beside it."""
        public = fv.report(releases / kind, overwrite=True)
        private = fv.report(releases / kind, source(releases, kind), overwrite=True)

        proof = fv.verify(releases / kind, source(releases, kind))
        public.unlink()
        assert any("report.html" in check for check in proof.checks)
        assert private == releases / f"{kind}.private.html"

    @pytest.mark.parametrize("how", ["symlink_to", "mkdir"])
    def test_report_that_is_no_file(self, releases, kind, how, tmp_path):
        """A report that is a link, even to nothing, or a folder does not verify."""
        folder = shutil.copytree(releases / kind, tmp_path / kind)
        for beside in releases.glob(f"{kind}.*"):
            shutil.copy(beside, tmp_path)
        getattr(folder / "report.html", how)(*(["nowhere"] if how == "symlink_to" else []))

        with pytest.raises(fv.VerificationError, match="not a plain file"):
            fv.verify(folder, source(releases, kind))

    def test_strange_options(self, releases, kind):
        """An option that a kind has no use for is refused by name, and never ignored."""
        if kind == "flows":
            return
        with pytest.raises(fv.InputError, match=rf"do not fit a release of {Kind[kind.upper()].title}: k"):
            fv.evaluate(releases / kind, source(releases, kind), k=5)


@pytest.mark.parametrize(
    ("kind", "ask", "needed"),
    [
        ("flows", fv.query, "a release with noise"),
        ("trajectories", fv.query, "a release with noise"),
        (
            "trajectories",
            lambda folder: fv.reconstruct(folder, folder.parent / "zones.parquet"),
            "a release of origins and destinations",
        ),
        ("flows", read_release, "a release of trajectories"),
        ("flows", lambda folder: verify(folder, source(folder.parent, "trajectories")), "a release of trajectories"),
        ("noisy_flows", verify_beside, "a release of flows between crowds"),
        ("cells", verify_beside, "a release of flows between crowds"),
        ("trajectories", verify_beside, "a release of flows between crowds"),
    ],
)
def test_what_a_kind_cannot_do(releases, kind, ask, needed):
    """It is said in one way: what is needed, and what this is; with a hint."""
    with pytest.raises(fv.InputError, match=f"is not {needed}, but a release of {Kind[kind.upper()].title}") as caught:
        ask(releases / kind)
    assert caught.value.hint


@pytest.mark.parametrize("kind", ["cells", "trajectories"])
def test_a_format_that_has_no_place_for_a_kind(releases, kind):
    """The message says what the format holds, and the hint which formats do; nothing is written."""
    title = Kind[kind.upper()].title
    with pytest.raises(fv.InputError, match=f"omx holds flows, and this is a release of {title}") as caught:
        fv.export(releases / kind, "omx", releases / "x.omx")
    assert "csv" in caught.value.hint
    assert not (releases / "x.omx").exists()


@pytest.mark.parametrize(
    "manifest",
    [None, 7, [], {}, {"format": "flowveil-flows/1"}, {"format": 7, "promise": 7}, {"format": "x", "promise": {}}],
)
def test_no_kind(manifest):
    """A manifest that anyone may have written claims a known kind or none."""
    assert kind_of(manifest) is None


def test_the_areas_of_a_release_with_noise(releases):
    """A noisy release has the tables of its kind, and says which when asked for another."""
    flows, cells = (fv.read_release(releases / kind) for kind in ("noisy_flows", "cells"))

    assert set(flows.flows["origin"].to_pylist()) <= set(flows.areas["area"].to_pylist())
    assert len(cells.counts) == cells.cells.num_rows == len(cells.scales)
    with pytest.raises(fv.InputError, match=r"no cells\.parquet"):
        _ = flows.cells
    with pytest.raises(fv.InputError, match=r"no flows\.parquet"):
        _ = cells.flows
    with pytest.raises(fv.InputError, match="read back"):
        cells.write(releases / "again")


def test_repr_of_a_matrix(releases):
    """A matrix is private: only its public grid is shown."""
    assert repr(fv.build_matrix(releases / "trips.parquet", CITY_BBOX, 8)) == "<Matrix of 8 by 8 by 8 by 8 cells>"


@pytest.mark.parametrize("value", ["no", "False", 0, None])
def test_flags_are_flags(releases, value):
    """Whoever writes "no" wants nothing replaced, and no report."""
    before = (releases / "flows").stat().st_ino
    release = fv.anonymize(fv.build_flows(releases / "trips.parquet", "h3:6"), k=5)

    with pytest.raises(fv.InputError, match="overwrite is"):
        release.write(releases / "flows", overwrite=value)
    with pytest.raises(fv.InputError, match="overwrite is"):
        fv.export(releases / "flows", "omx", releases / "x.omx", overwrite=value)
    with pytest.raises(fv.InputError, match="report is"):
        release.write(releases / "new", report=value)
    assert (releases / "flows").stat().st_ino == before
    assert not (releases / "new").exists()
