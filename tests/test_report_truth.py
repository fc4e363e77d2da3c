"""What a report says of a release can be recomputed, and its command makes the release again."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
import shapely

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._places import square_kilometers
from flowveil._report.reach import mean_reach
from flowveil._report.words import command


@pytest.mark.slow
@pytest.mark.parametrize("typed", [["--hierarchy", "h3"], ["--hierarchy", "lattice:1"], ["--hierarchy", "h3-binary"]])
def test_command_makes_the_same_release(typed, city_trips, tmp_path):
    """The command on the page, with the trips in place of INPUT, gives the same flows."""
    first, second = tmp_path / "first", tmp_path / "second"
    assert run(["anonymize", str(city_trips), "-o", str(first), "--grid", "h3:6", "--unit", "person_id", *typed]) == 0

    words = shlex.split(command(fv.read_release(first).manifest))[1:]
    places = {"INPUT": str(city_trips), "DIR": str(second)}
    assert run([places.get(word, word) for word in words]) == 0

    assert (second / "flows.parquet").read_bytes() == (first / "flows.parquet").read_bytes()


@pytest.mark.parametrize(("wide", "high"), [(1.0, 1.0), (4.0, 1.0), (1.0, 12.0)])
def test_reach_of_rectangles(wide, high):
    """The mean distance to the middle is that of points drawn at random, also where areas are long."""
    degrees = 0.01 * np.array([wide, high])
    shape = shapely.box(*-degrees, *degrees)
    places = np.random.default_rng(3).uniform(-degrees, degrees, (200_000, 2))

    (meters,) = mean_reach(np.array([shape], object), np.zeros(1), np.zeros(1), square_kilometers(np.array([shape])))

    assert meters == pytest.approx(np.hypot(*(places * 111_195).T).mean(), rel=0.02)


def test_reach_without_outlines():
    """Areas without an outline have none, and one that no point of the grid is in counts as round."""
    thin = shapely.Polygon([(0, 0), (1, 1), (1, 1 + 1e-9)])
    shapes = np.array([None, thin], object)

    none, some = mean_reach(shapes, np.array([np.nan, 0.5]), np.array([np.nan, 0.5]), square_kilometers(shapes))

    assert np.isnan(none)
    assert np.isfinite(some)


def test_blur_says_what_it_leaves_out(city_trips, tmp_path):
    """Where ends have no outline, the figure says of how many ends it is the mean."""
    flows = fv.build_flows(city_trips, "h3:7", hierarchy="h3")
    folder = fv.anonymize(flows, elsewhere=True).write(tmp_path / "release")
    table = fv.read_release(folder).flows.to_pandas()
    whole = table["trips"].sum()
    known = sum(
        table.loc[~table[end].isin(["world", "elsewhere"]), "trips"].sum() for end in ("origin", "destination")
    ) / (2 * whole)

    page = fv.report(folder).read_text(encoding="utf-8")

    assert known < 1
    assert f"of the {100 * known:.0f} % of ends" in page
