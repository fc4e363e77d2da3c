"""A client of flowveil: never run, only type-checked (test_typed.py). It uses every public name."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import pyarrow as pa

import flowveil as fv

TRIPS = Path("trips.parquet")


def flows_of(table: pa.Table) -> fv.Flows:
    """Trips may be files, tables of any library that speaks Arrow, or what `read_trips` returns."""
    trips = fv.read_trips(TRIPS, {"start_lon": "x"}, "x > 4")
    assert_type(trips, fv.Trips)
    assert_type(trips.columns, dict[str, str])
    assert_type(fv.build_flows("trips/*.parquet", "h3:8", unit="person_id"), fv.Flows)
    assert_type(fv.build_flows([TRIPS, "more.csv"], "quadtree:500", bbox=fv.synthetic.CITY_BBOX), fv.Flows)
    assert_type(fv.build_flows(table), fv.Flows)
    return fv.build_flows(trips, zones=table, hierarchy=["zone_id", "district"], by=["sex"])


def trips_of(fixes: pa.Table) -> Path:
    """Trips can be made of raw fixes; what is odd comes as a warning."""
    made = fv.make_trips(fixes, "trips.parquet")
    assert_type(made, fv.MadeTrips)
    warnings: list[type[fv.FlowveilWarning]] = [fv.DroppedRowsWarning, fv.ImplausiblePlacesWarning, fv.LossWarning]
    assert_type(warnings[0].__name__, str)
    return TRIPS


def release_of(flows: fv.Flows) -> fv.Release:
    """Make, measure, write and read a release."""
    release = fv.anonymize(flows, "mosaic", k=10, max_suppression=0.05, options={"time_weight": 2.0})
    assert_type(release, fv.Release)
    assert_type(release.manifest["promise"]["k"], int)
    assert_type(release.manifest["options"].get("by"), list[str] | None)
    assert_type(release.metrics()["gbar"], float | None)
    assert_type(release.metrics()["min_trips"], int)
    assert_type(release.flows, pa.Table)
    assert_type(release.write("out", report=True), Path)
    assert_type(fv.frontier(flows, "mosaic", points=5), fv.Frontier)
    assert_type(fv.study(flows, "study", ["mosaic"], k=[5, 10], max_suppression=[0.05, 0.1]), fv.Study)
    assert_type(fv.reproduce("atg-table3", "reproduced", small=True).summary(), pa.Table)
    assert_type(fv.compare(flows, ["mosaic", "nested"], options={"nested": {"side": "origin"}}), fv.Comparison)
    return release


def read(folder: str | Path, table: pa.Table) -> float | None:
    """Read a release back: what it is depends on its kind."""
    content = fv.read_release(folder)
    assert_type(
        content,
        fv.Release | fv.NoisyRelease | fv.trajectories.TrajectoryRelease | fv.trajectories.SyntheticRelease,
    )
    try:
        proof = fv.verify(folder, TRIPS, zones=table, beside="earlier")
    except fv.VerificationError as error:
        assert_type(error.hint, str)
        return None
    assert_type(proof, fv.Verification | fv.trajectories.TrajectoryVerification)
    assert_type(proof.checks, tuple[str, ...])
    found = fv.risk(folder, TRIPS)
    assert_type(found, fv.Risk)
    assert_type(found.findings, tuple[fv.Finding, ...])
    assert_type(found.reaches("tells"), bool)
    figures = fv.evaluate(folder, TRIPS, k=5)
    suppressed = figures["suppressed"]
    assert_type(fv.report(folder, overwrite=True), Path)
    assert_type(fv.export(folder, "geojson", "map"), fv.Export)
    estimate = fv.reconstruct(folder, table)
    assert_type(estimate, fv.Reconstruction)
    answers = release_of(flows_of(table)).between(table).top(3)
    assert_type(answers, fv.Answers)
    assert_type(fv.sample(folder, 100), pa.Table)
    assert_type(fv.register("releases.register", epsilon_budget=3), fv.Register)
    assert_type(estimate.share, float)
    return suppressed if isinstance(suppressed, float) else None


def noise(table: pa.Table) -> fv.NoisyRelease:
    """Matrices and noise."""
    box = (4.40, 50.26, 4.82, 50.53)
    matrix = fv.build_matrix(table, box, cells=100, unit="person_id", max_trips_per_person=2)
    assert_type(matrix, fv.Matrix)
    assert_type(fv.build_tile_matrix(table, "4.40,50.26,4.82,50.53", "h3:7"), fv.Matrix)
    assert_type(fv.build_frame_matrix(table, box, max_trips_per_person=3), fv.Matrix)
    release = fv.add_noise(matrix, "daf-entropy", epsilon=1.0, options={"consistent": True})
    assert_type(release.manifest["promise"]["epsilon"], float)
    answer = fv.query(release.write("noisy"), origin=box, destination="4.5,50.3,4.6,50.4")
    assert_type(answer.estimate, float)
    assert_type(fv.query_errors("noisy", table)["uniform 5%"]["mre"], float | None)
    assert_type(fv.advise([0.5, 1.0], trips=1_000)[0]["method"], float | str | None)
    return release


def names() -> list[str]:
    """Methods, errors and the version."""
    errors: list[type[fv.FlowveilError]] = [fv.InputError, fv.PromiseError, fv.UnknownNameError, fv.VerificationError]
    assert_type(fv.__version__, str)
    method: fv.Method = fv.methods()[0]
    layout: fv.Layout = fv.layouts()[0]
    assert_type(fv.describe("trips.parquet", "h3:7"), fv.Description)
    return [method.name, layout.name, *(error.__name__ for error in errors)]


def city(folder: Path) -> pa.Table:
    """Write the synthetic city."""
    assert_type(fv.synthetic.CITY_BBOX, tuple[float, float, float, float])
    assert_type(fv.synthetic.PHONES_BBOX, tuple[float, float, float, float])
    assert_type(fv.synthetic.DEMO_TRIPS // fv.synthetic.DEMO_PERSONS, int)
    first, last = fv.synthetic.CITY_PERIOD
    assert_type((last - first).days, int)
    place: fv.synthetic.City = fv.synthetic.write_city(folder / "city.parquet", trips=1_000, ends="zones")
    assert_type(fv.synthetic.write_demo_city(folder / "demo.parquet"), fv.synthetic.City)
    assert_type(place.zone_of([4.5], [50.3]), pa.StringArray)
    assert_type(place.trips(10), pa.Table)
    city = fv.synthetic.City(persons=100)
    assert_type(fv.synthetic.fold_days(city.trips(100), days=1), pa.Table)
    assert_type(fv.synthetic.split_zones(city.trips(100, ends="zones"), city.zones()), tuple[pa.Table, pa.Table])
    return fv.synthetic.phones(20)


def paths(samples: pa.Table) -> None:
    """Trajectories."""
    grid = fv.trajectories.make_grid(fv.synthetic.PHONES_BBOX, "100m,1min")
    assert_type(grid, fv.trajectories.Grid)
    data = fv.trajectories.read_trajectories(samples, grid.bbox)
    assert_type(data, fv.trajectories.Trajectories)
    release = fv.trajectories.anonymize(data, k=2, variant=fv.trajectories.VARIANTS[0])
    assert_type(release, fv.trajectories.TrajectoryRelease)
    assert_type(fv.trajectories.synthesize(data, 1, days="2024-03-04,2024-03-17"), fv.trajectories.SyntheticRelease)
    prices = fv.trajectories.frontier(data, k=2)
    assert_type(prices, fv.trajectories.TrajectoryFrontier)
    assert_type(fv.trajectories.METHODS[0], str)
    folder = release.write("paths")
    assert_type(fv.trajectories.read_release(folder), fv.trajectories.TrajectoryRelease)
    proof = fv.trajectories.verify(folder, samples)
    assert_type(proof, fv.trajectories.TrajectoryVerification)
    measured = fv.trajectories.evaluate(folder, samples)
    assert_type(measured, fv.trajectories.TrajectoryEvaluation)
    assert_type(measured.figures()["extent"]["median"], float | None)
    gaps = fv.trajectories.gap(data, [2, 5])
    assert_type(gaps, fv.trajectories.Gap)
    assert_type(gaps.figures()["gap"]["2"]["mean"], float | None)
    parts = fv.trajectories.features(data, 2)
    assert_type(parts, fv.trajectories.Features)
    older = fv.trajectories.baseline(data, fv.trajectories.BASELINES[0], 2)
    assert_type(older, fv.trajectories.Baseline)
    assert_type(older.figures()["created"], int)
