"""The synthetic city, written once for all tests, and which tests run where, in which order."""

from __future__ import annotations

import signal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from xdist.scheduler import LoadScopeScheduling

from flowveil.synthetic import write_city

if TYPE_CHECKING:
    from xdist.remote import Producer

HERE = Path(__file__).parent
FOLDERS = ("browser", "spark")
LONGEST = {  # seconds of processor time, roughly; only their order matters
    "spark": 300,
    "browser": 150,
    "test_absurd_numbers.py": 90,
    "test_promise.py": 80,
    "test_option_types.py": 60,
    "test_app.py": 55,
    "test_time_and_groups.py": 50,
    "test_report.py": 45,
    "test_noise_auditor.py": 40,
    "test_study.py": 35,
    "test_elsewhere.py": 35,
    "test_killed.py": 30,
    "test_verify_families.py": 30,
    "test_examples.py": 30,
    "test_options.py": 30,
    "test_condition.py": 30,
    "test_manifest_keys.py": 27,
    "test_read_trips.py": 26,
    "test_database.py": 26,
    "test_people.py": 25,
    "test_compare.py": 22,
    "test_write_release.py": 22,
    "test_private_files.py": 20,
    "test_crowds.py": 20,
    "test_memory.py": 20,
    "test_remainders_release.py": 18,
    "test_site.py": 16,
    "test_spread.py": 15,
    "test_matrices_release.py": 15,
    "test_questions.py": 15,
    "test_trajectories_release.py": 14,
    "test_trajectories_glove.py": 14,
    "test_overlapping.py": 14,
    "test_verify.py": 14,
    "test_synthesis.py": 14,
    "test_claims.py": 13,
    "test_typed.py": 12,
}


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background; tests interrupt programs
    signal.signal(signal.SIGINT, signal.default_int_handler)


# All commands are built from their functions anew in each run, which takes longer than many of the runs in tests.
typer.main.get_command = cache(typer.main.get_command)


class ByPlace(LoadScopeScheduling):
    """Lets a file, or a folder that shares a cluster or a browser, stay in one process."""

    def _split_scope(self, nodeid: str) -> str:
        return place(Path(nodeid.partition("::")[0]).relative_to(HERE.name))


def place(path: Path) -> str:
    """Return the file or folder below this one that a path leads through."""
    return path.parts[0]


@pytest.hookimpl(optionalhook=True)  # xdist may not be there
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByPlace:
    """Choose who runs what: xdist's own groups need no scheduler, but pytest 9.2 does not tell it of them."""
    return ByPlace(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a cluster or a browser as slow; the longest come first.

    At the end a long one would run alone while other cores wait.
    """
    for item in items:
        if place(item.path.relative_to(HERE)) in FOLDERS:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: LONGEST.get(place(item.path.relative_to(HERE)), 0), reverse=True)


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


@pytest.fixture
def cells_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the cells of studies and comparisons in this process: for tests of what comes out, not of processes."""
    from flowveil._study import running
    from flowveil._study.limits import rows_here

    monkeypatch.setattr(running, "limited_rows", lambda data, cell, *_: rows_here(data, cell))
