"""Marginals of zones: noisy-mosaic counts each zone by itself, readers spread areas by that, the verifier checks it."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import flowveil as fv
from flowveil import InputError, VerificationError
from flowveil._matrices.flow_tables import count_flows
from flowveil._matrices.layers import parse_layers
from flowveil._matrices.points import Matrix, Points
from flowveil._matrices.tiles import make_zone_grid
from flowveil._noise import Ledger
from flowveil._reading import read_zone_weights
from tests.auditor import bounds
from tests.test_verify import write_table

ZONES = pa.table({"zone_id": list("abcd"), "lon": [4.0, 4.1, 4.2, 4.3], "lat": [50.0, 50.0, 50.0, 50.0]})
SHARE = {"marginal_share": 0.2}


def trips(pairs, person="p"):
    """Return trips between zones, as often as each is listed."""
    return pa.table(
        {
            "person": pa.array([person] * len(pairs), pa.string()),
            "origin": pa.array([pair[0] for pair in pairs], pa.string()),
            "destination": pa.array([pair[1] for pair in pairs], pa.string()),
        }
    )


UNEVEN = trips([("a", "c")] * 6_000 + [("b", "d")] * 300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a release with marginals, without its audit file, so that the verifier has to find changes by itself."""
    release = fv.add_noise(UNEVEN, "noisy-mosaic", 2.0, zones=ZONES, options=SHARE)
    path = release.write(tmp_path_factory.mktemp("zones") / "out")
    path.with_name("out.audit.json").unlink()
    return path


def coarse(folder, target):
    """Return a copy of a release with one flow from all zones to all: what marginals tell is then all there is."""
    shutil.copytree(folder, target)
    areas, flows = pq.read_table(target / "areas.parquet"), pq.read_table(target / "flows.parquet")
    top = areas.slice(0, 1).to_pylist()[0] | {"area": "all", "members": list("abcd"), "tiles": 4, "geometry": None}
    rows = [top | {"side": side} for side in ("origin", "destination")]
    write_table(pa.Table.from_pylist(rows, areas.schema), target / "areas.parquet")
    one = flows.slice(0, 1).to_pylist()[0] | {"origin": "all", "destination": "all", "trips": 6_300}
    one["nonnegative"] = 6_300
    write_table(pa.Table.from_pylist([one], flows.schema), target / "flows.parquet")
    return target


def test_budget_and_tables(folder):
    """Each end costs half of the share, and lists all zones with the noise of that, whether trips were there or not."""
    release = fv.read_release(folder)
    spends = {each["spend"]: each["epsilon"] for each in release.manifest["promise"]["budget"]}

    assert spends["marginal 1"] == spends["marginal 2"] == pytest.approx(0.2)
    assert release.marginals["zone"].to_pylist() == list("abcd") * 2
    assert np.allclose(release.marginals["scale"].to_numpy(), 1 / 0.2)
    assert release.marginals["count"].to_pylist()[0] == pytest.approx(6_000, abs=200)
    assert fv.verify(folder, zones=ZONES)


def test_answers_are_spread_by_marginals(folder, tmp_path):
    """Of a flow between all zones, each gets what its marginal says."""
    path = coarse(folder, tmp_path / "out")

    asked = fv.query(path, origin_zones=["a"])
    plain = coarse(folder, tmp_path / "plain")
    (plain / "marginals.parquet").unlink()

    assert asked.by_marginals
    assert asked.estimate == pytest.approx(6_000, abs=300)
    assert not fv.query(plain, origin_zones=["a"]).by_marginals
    assert fv.query(plain, origin_zones=["a"]).estimate == pytest.approx(6_300 / 4)
    assert fv.query(path, origin_zones=list("abcd")).estimate == pytest.approx(6_300)


@pytest.mark.slow
@pytest.mark.parametrize("outlined", [False, True])
def test_models_are_spread_by_marginals(outlined, folder, tmp_path):
    """So it is in reconstructed flows and in answers with bounds, whether or not the zones have outlines."""
    path = coarse(folder, tmp_path / "out")
    shapes = [shapely.to_wkb(shapely.box(4 + at / 10, 50, 4.1 + at / 10, 50.1)) for at in range(4)]
    zones = pa.table({"zone_id": list("abcd"), "geometry": shapes}) if outlined else ZONES

    rebuilt = fv.reconstruct(path, zones).flows.to_pylist()
    told = fv.read_release(path).departures(zones).table.to_pylist()

    assert sum(row["trips"] for row in rebuilt if row["origin"] == "a") == pytest.approx(6_000, abs=300)
    assert next(row for row in told if row["zone"] == "a")["estimate"] == pytest.approx(6_000, abs=300)


def test_noise_is_not_taken_for_trips():
    """Zones that differ by no more than noise have the same weight, whatever the noise; true differences stay."""
    random = np.random.default_rng(0)

    def weights(true, scale):
        counts = true + np.rint(random.laplace(0, scale, len(true))).astype(int)
        names = [f"z{at}" for at in range(len(true))]
        columns = {"place": ["origin"] * len(true), "zone": names, "count": counts, "scale": [scale] * len(true)}
        return np.array(list(read_zone_weights({"marginals.parquet": pa.table(columns)})["origin"].values()))

    assert weights(np.full(2_000, 50), 100.0).std() < 0.6  # noise alone has a deviation of 2.8 means
    clear = np.arange(100) * 100
    assert weights(clear, 2.0) == pytest.approx(clear / clear.mean(), abs=0.05)


def changed(folder, target, change):
    """Return a copy of a release of which marginals or manifest were changed."""
    shutil.copytree(folder, target)
    table = pq.read_table(target / "marginals.parquet").to_pandas()
    manifest = json.loads((target / "manifest.json").read_text())
    table = change(table, manifest)
    schema = pq.read_schema(folder / "marginals.parquet")
    write_table(pa.Table.from_pandas(table, preserve_index=False).cast(schema), target / "marginals.parquet")
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return target


def unpaid(table, manifest):
    """Claim that the marginals cost nothing."""
    manifest["promise"]["budget"] = [
        each for each in manifest["promise"]["budget"] if not each["spend"].startswith("marginal")
    ]
    return table


def other_share(table, manifest):
    """Claim that another share was typed."""
    manifest["options"]["method_options"]["marginal_share"] = 0.3
    return table


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda table, _: table.assign(scale=table["scale"] / 2), "noise of the marginal of origin"),
        (lambda table, _: table.iloc[1:], "every zone once"),
        (lambda table, _: table.assign(zone=table["zone"].replace("d", "e")), "every zone once"),
        (lambda table, _: table.iloc[::-1], "origins, then of destinations"),
        (lambda table, _: table.assign(nonnegative=table["nonnegative"] + 1), "keep the noisy total"),
        (unpaid, "other files"),
        (other_share, "did not cost what the manifest says"),
    ],
)
def test_the_verifier_knows_marginals_of_zones(folder, tmp_path, change, found):
    """Zones that lack, totals that change, and noise that was not paid for are found."""
    with pytest.raises(VerificationError, match=found):
        fv.verify(changed(folder, tmp_path / "out", change), zones=ZONES)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"bbox": fv.synthetic.CITY_BBOX, "grid": "h3:5"}, "is for zones"),
        ({"zones": ZONES, "options": {"marginal_share": 1.5}}, "marginal_share"),
        ({"zones": ZONES, "options": {"marginal_share": 0.9}, "persons": True}, "leave something for the flows"),
    ],
)
def test_what_has_no_marginals_is_refused(asked, message):
    """A clear error, and nothing is drawn."""
    source = fv.synthetic.City(persons=5).trips(10) if "bbox" in asked else UNEVEN
    unit = {"unit": "person", "max_trips_per_person": 2} if "persons" in asked else {}
    with pytest.raises(InputError, match=message):
        fv.add_noise(source, "noisy-mosaic", 1.0, **{"options": SHARE} | asked | unit)


def test_nobody_is_no_error(tmp_path):
    """A city without trips has all its zones, like any other."""
    release = fv.add_noise(trips([]), "noisy-mosaic", 1.0, zones=ZONES)
    path = release.write(tmp_path / "out")

    assert fv.verify(path, zones=ZONES)
    assert release.marginals.num_rows == 8
    assert np.isfinite(fv.query(path, origin_zones=["a", "b"]).estimate)


RUNS = 2_000


def outcomes(most, epsilon):
    """Return both marginals and the flows of many runs, in each of which a person has so many trips of two.

    Runs are zones, which are counted by themselves, and groups, which are matrices by themselves.
    """
    every = [str(run) for run in range(RUNS)]
    spread = np.random.default_rng(0).random((2, RUNS))
    grid = make_zone_grid(pa.table({"zone_id": every, "lon": spread[0], "lat": spread[1]}), None)
    layers = parse_layers(None, None, None, None, "run", {"run": every})
    here = grid.positions(np.arange(RUNS, dtype=np.uint64))
    ids = [int(grid.places.table.ids[zone]) for zone in range(RUNS)]  # the run of each zone
    counts = np.full(RUNS if most else 0, most)
    points = Points(
        np.column_stack([here, here])[: len(counts)], counts, grid.lengths, np.array(ids)[: len(counts)], RUNS
    )
    options = {"max_cells": 10**9, "marginal_share": 0.6}
    matrix = Matrix(points, grid, "p", 2, layers=layers)
    tables = count_flows(matrix, "noisy-mosaic", Ledger(epsilon), options, consistent=False).tables
    table, flows = tables["marginals.parquet"], tables["flows.parquet"]
    of_flows = np.bincount(np.array(flows["run"].to_pylist(), int), flows["trips"].to_numpy(), RUNS)
    zone = np.argsort(np.array(table["zone"].to_pylist()[:RUNS], int))
    ends = table["count"].to_numpy().reshape(2, RUNS)[:, zone]
    return np.column_stack([*ends, of_flows])


def test_marginals_may_be_left_out(tmp_path):
    """With a share of 0 all of the budget goes to flows, and there is no file; by default there is one."""
    without = fv.add_noise(UNEVEN, "noisy-mosaic", 1.0, zones=ZONES, options={"marginal_share": 0.0})
    default = fv.add_noise(UNEVEN, "noisy-mosaic", 1.0, zones=ZONES)

    assert list(without.tables) == ["flows.parquet", "areas.parquet"]
    assert fv.verify(without.write(tmp_path / "without"), zones=ZONES)
    assert np.allclose(default.marginals["scale"].to_numpy(), 1 / 0.05)
    assert "method_options" not in default.manifest["options"]


@pytest.mark.slow
def test_marginals_of_zones_are_paid_for(monkeypatch):
    """A person's trips change flows and both marginals together within epsilon; unpaid marginals would be beyond."""

    def worst(epsilon=2.0):
        seen = [0.0]
        sides = outcomes(2, epsilon), outcomes(0, epsilon)
        for level in range(-3, 7):
            likely, unlikely = (int((side >= level).all(axis=1).sum()) for side in sides)
            low, high = bounds(likely, RUNS)[0], bounds(unlikely, RUNS)[1]
            seen.append(float(np.log(low / high)) if low > 0 else 0.0)
        return max(seen)

    assert 0.5 < worst() <= 2.0
    monkeypatch.setattr(Ledger, "part", lambda ledger, _, __: Ledger(ledger.epsilon))
    assert worst() > 2.0
