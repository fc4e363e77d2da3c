"""The synthetic city, written once for all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flowveil.synthetic import write_city

if TYPE_CHECKING:
    from pathlib import Path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files that start clusters first: at the end one of them would run alone while other cores wait."""
    items.sort(key=lambda item: not item.path.name.startswith("test_spark"))


@pytest.fixture(scope="session")
def city_trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write trips of 500 persons with coordinates."""
    path = tmp_path_factory.mktemp("city") / "trips.parquet"
    write_city(path, trips=20_000, persons=500)
    return path


@pytest.fixture(scope="session")
def city_zone_trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the same trips by zone id, with the zones beside them as zones.parquet."""
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("zones")
    city = write_city(folder / "trips.parquet", trips=20_000, persons=500, ends="zones")
    pq.write_table(city.zones(), folder / "zones.parquet")
    return folder / "trips.parquet"
