"""Areas of grids are called after the nearest place, with distance and direction; the verifier finds it again."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._places import Gazetteer, world_gazetteer
from flowveil._places.naming import PlaceNames
from flowveil._places.places import AreaTable
from flowveil._verify.nearby import Nearby
from flowveil.synthetic import CITY_BBOX
from tests.test_names import spoil, swap

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OWN = pa.table({"name": ["Old\tTown ", "Harbor", "Hill"], "lon": [4.5, 4.6, 4.7], "lat": [50.4, 50.45, 50.3]})


def named(gazetteer: Gazetteer | None, lon: list[float], lat: list[float]) -> list[str | None]:
    """Return the names of points."""
    count = len(lon)
    empty = np.full(count, None, object)
    known = AreaTable(["a"] * count, np.array(lon), np.array(lat), np.zeros(count, np.int64), None, empty)
    return PlaceNames(gazetteer).names(known)


def gazetteer(*points: tuple[str, float, float]) -> Gazetteer:
    """Return places by name, lon and lat."""
    return Gazetteer([name for name, _, _ in points], *np.array([point[1:] for point in points], float).T)


@pytest.mark.parametrize(
    ("lon", "lat", "name"),
    [
        (0.0, 50.0, "X"),
        (0.0, 50.0027, "300 m N of X"),
        (0.0, 49.991, "1 km S of X"),
        (0.03, 50.0, "2.1 km E of X"),
        (0.03, 50.02, "3.1 km NE of X"),
        (-1.0, 49.4, "98 km SW of X"),
        (-1.0, 49.0, None),
        (180.0, -50.0, None),
        (float("nan"), float("nan"), None),
    ],
)
def test_a_name_tells_distance_and_direction(lon: float, lat: float, name: str | None) -> None:
    """To a hundred meters when near, in whole kilometers from ten on, not at all beyond a hundred."""
    assert named(gazetteer(("X", 0.0, 50.0)), [lon], [lat]) == [name]


def test_the_world_has_places() -> None:
    """The gazetteer knows parts of cities, is sorted, and has no two places at one spot."""
    world = world_gazetteer()
    assert named(None, [-122.42, -73.94, -87.63], [37.76, 40.79, 41.88]) == [
        *("100 m W of Mission District", "600 m S of East Harlem", "500 m SE of Chicago Loop"),
    ]
    spots = set(zip(world.lon.tolist(), world.lat.tolist(), strict=True))
    assert len(spots) == len(world.names) == len(world.lon) > 50_000
    assert (np.diff(world.lat) >= 0).all()
    assert all(name and name == name.strip() for name in world.names)


DEGREES = st.floats(-180, 180), st.floats(-90, 90)
NEAR = st.floats(-1, 1).map(lambda part: 10 * part), st.floats(-0.5, 0.5).map(lambda part: 60 + part)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from("ABC"), *NEAR) | st.tuples(st.just("D"), *DEGREES), min_size=1, max_size=9),
    st.lists(st.tuples(*NEAR) | st.tuples(*DEGREES), min_size=1, max_size=5),
)
@example([("A", 179.99, 0.0), ("B", -179.0, 0.0)], [(-179.99, 0.0)])
@example([("A", 0.0, 89.9), ("B", 90.0, 80.0)], [(180.0, 89.9), (0.0, 90.0)])
def test_maker_and_verifier_agree(places: list[tuple[str, float, float]], points: list[tuple[float, float]]) -> None:
    """Two ways to find the nearest place, its distance and direction give the same words, anywhere on the globe."""
    known = gazetteer(*{place[1:]: place for place in places}.values())
    nearby = Nearby(known)
    names = named(known, [lon for lon, _ in points], [lat for _, lat in points])
    for (lon, lat), name in zip(points, names, strict=True):
        assert name in nearby.names(lon, lat)


def test_the_verifier_leaves_no_choice() -> None:
    """All but a few points have exactly one name that is right."""
    nearby = Nearby(world_gazetteer())
    points = np.random.default_rng(0).uniform([4.4, 50.3], [4.8, 50.5], (200, 2)).tolist()
    assert sum(len(nearby.names(lon, lat)) > 1 for lon, lat in points) <= 1


WRONG: dict[str, Callable[[list[dict]], None]] = {
    "planted": lambda rows: rows[0].update(name="12 trips of Mr. Smith"),
    "none": lambda rows: next(row for row in rows if row["name"]).update(name=None),
    "farther": lambda rows: rows[0].update(name=f"1{rows[0]['name']}"),
    "of another area": swap,
}


@pytest.fixture(
    scope="module",
    params=[
        ("mosaic", {"grid": "h3:6"}),
        ("mosaic", {"grid": "h3:7", "hierarchy": "h3-binary", "places": OWN}),
        ("mondrian", {"grid": "quadtree:2000", "bbox": CITY_BBOX}),
    ],
    ids=["lattice", "own", "rectangles"],
)
def written(
    request: pytest.FixtureRequest, city_trips: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, pa.Table | None]:
    """Return a verified release, and the places that it is named by."""
    method, options = request.param
    release = fv.anonymize(fv.build_flows(city_trips, **options), method, k=20)
    folder = release.write(tmp_path_factory.mktemp("names") / "out")
    fv.verify(folder, city_trips, places=options.get("places"))
    return folder, options.get("places")


@pytest.mark.slow
@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_name_of_no_place_is_refused(
    written: tuple[Path, pa.Table | None], city_trips: Path, tmp_path: Path, change: Callable[[list[dict]], None]
) -> None:
    """Every name is derived again from the centers of areas and the gazetteer."""
    folder, places = written
    copied = shutil.copytree(folder, tmp_path / "out")
    shutil.copy(f"{folder}.audit.json", tmp_path / "out.audit.json")
    spoil(copied, change)

    with pytest.raises(fv.VerificationError, match="name of the area"):
        fv.verify(copied, city_trips, places=places)


@pytest.mark.slow
def test_places_of_ones_own(city_trips: Path, tmp_path: Path) -> None:
    """A file of places is used, remembered in the private audit file, and needed to verify where that is gone."""
    file = tmp_path / "places.csv"
    file.write_text("name,lon,lat\nHarbor,4.6,50.45\nHill,4.7,50.3\n")
    release = fv.anonymize(fv.build_flows(city_trips, "h3:6", places=file), k=20)
    assert release.manifest["options"]["place_names"] == "own"
    assert "places.csv" not in str(release.manifest)
    last = {str(name).rpartition(" ")[2] for name in release.areas["name"].to_pylist()}
    assert last <= {"Harbor", "Hill", "Everywhere"}
    folder = release.write(tmp_path / "out")
    fv.verify(folder, city_trips)
    (tmp_path / "out.audit.json").unlink()
    with pytest.raises(fv.FlowveilError, match="none were given"):
        fv.verify(folder, city_trips)
    fv.verify(folder, city_trips, places=file)
    with pytest.raises(fv.VerificationError, match="name of the area"):
        fv.verify(folder, city_trips, places=OWN)


def test_no_names_on_request(city_trips: Path, tmp_path: Path) -> None:
    """Empty places ask for no names; then none but that of the world may be there."""
    release = fv.anonymize(fv.build_flows(city_trips, "h3:6", places=""), k=20)
    assert set(release.areas["name"].to_pylist()) <= {None, "Everywhere"}
    assert "place_names" not in release.manifest["options"]
    folder = release.write(tmp_path / "out")
    fv.verify(folder, city_trips)
    spoil(folder, lambda rows: rows[0].update(name="2 km N of Namur"))
    with pytest.raises(fv.VerificationError, match="name of the area"):
        fv.verify(folder, city_trips)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (pa.table({"title": ["A"], "lon": [1.0], "lat": [1.0]}), "no column 'name'"),
        (pa.table({"name": ["A"], "lon": [200.0], "lat": [1.0]}), "on the globe"),
        (pa.table({"name": ["A"]}), "on the globe"),
        (pa.table({"name": [None], "lon": [1.0], "lat": [1.0]}), "no place has a name"),
        ("nowhere.csv", "no places file"),
    ],
)
def test_bad_places_are_told(city_trips: Path, places: object, message: str) -> None:
    """What cannot be read as places is an error that says so."""
    with pytest.raises(fv.FlowveilError, match=message):
        fv.build_flows(city_trips, "h3:6", places=places)


def test_noise_on_a_grid_has_checked_names(city_trips: Path, tmp_path: Path) -> None:
    """A release with noise names its areas by the same rule, and its verifier derives them, too."""
    pytest.importorskip("opendp")
    noisy = fv.add_noise(city_trips, epsilon=1.0, grid="h3:6", bbox=CITY_BBOX)
    folder = noisy.write(tmp_path / "out")
    fv.verify(folder)
    spoil(folder, lambda rows: rows[-1].update(name="planted"))
    with pytest.raises(fv.VerificationError, match="name of the area"):
        fv.verify(folder)
