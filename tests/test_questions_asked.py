"""What people ask, before and after: every figure by a few plain lines, and the same figures for every promise."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.stats import spearmanr

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._places import read_districts
from flowveil._questions.figures import common, gravity, rank_correlation
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones

AMOUNTS = st.integers(0, 30).map(float)


@pytest.fixture(scope="module")
def folder(city_trips, tmp_path_factory):
    """Write a release of the city with every pair of tiles as it is: what it tells is nearly the truth."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, hierarchy="h3", time="hour-of-day")
    path = tmp_path_factory.mktemp("asked") / "out"
    return fv.anonymize(flows, "suppression", 1).write(path)


@pytest.fixture(scope="module")
def halves():
    """Return two zones: the west and the east of the city."""
    west, south, east, north = CITY_BBOX
    middle = (west + east) / 2
    boxes = [shapely.box(west, south, middle, north), shapely.box(middle, south, east, north)]
    return pd.DataFrame({"zone_id": ["east half", "west half"], "geometry": [shapely.to_wkb(b) for b in boxes[::-1]]})


@settings(max_examples=60, deadline=None)
@given(arrays(float, (4, 4), elements=AMOUNTS), arrays(float, (4, 4), elements=AMOUNTS))
def test_common_part_and_ranks(before, after):
    """The common part is that of commuters, and ranks agree as scipy says."""
    whole = before.sum() + after.sum()
    if whole:
        assert common(before, after) == pytest.approx(2 * np.minimum(before, after).sum() / whole)
    told = rank_correlation(before.ravel(), after.ravel())
    if told is not None:
        assert told == pytest.approx(spearmanr(before.ravel(), after.ravel()).statistic)


@pytest.mark.parametrize("seed", range(4))
def test_gravity_is_the_most_likely_model(seed):
    """No other exponents make the trips more likely: a search by scipy, which knows nothing of ours, ends there too."""
    chance = np.random.default_rng(seed)
    places = chance.uniform(0, 30, (9, 2))
    far = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    trips = chance.poisson(chance.uniform(5, 200, (9, 1)) / (1 + far)).astype(float)
    np.fill_diagonal(trips, 0)
    row, column = np.nonzero(trips.sum(axis=1)[:, None] * trips.sum(axis=0) * far)
    logs = np.log(trips.sum(axis=1))[row], np.log(trips.sum(axis=0))[column], -np.log(far[row, column])

    def unlikely(model):
        line = model[0] + model[1] * logs[0] + model[2] * logs[1] + model[3] * logs[2]
        return float((np.exp(line) - trips[row, column] * line).sum())

    best = minimize(unlikely, [0.0, 0.5, 0.5, 0.5], method="BFGS").x

    assert list(gravity(trips.copy(), far).values()) == pytest.approx(best[1:], abs=2e-3)


@pytest.mark.slow
def test_before_is_a_plain_count(folder, city_trips, halves):
    """Trips before, their length and peak hour are those of the raw rows; of all tiles, after is nearly the same."""
    trips = pq.read_table(city_trips).to_pandas()
    west, south, east, north = CITY_BBOX
    for end in ("start", "end"):
        trips = trips[trips[f"{end}_lon"].between(west, east) & trips[f"{end}_lat"].between(south, north)]

    figures = fv.evaluate(folder, city_trips, questions=True, zones=halves.rename(columns={"zone_id": "Bezirk"}))

    assert figures["between"]["before"] == len(trips)
    assert figures["districts"] == {"count": 2, "rule": "your zones", "outside": 0.0}
    assert figures["peak_hour"]["before"] == pd.to_datetime(trips["start_time"]).dt.hour.mode()[0]
    assert figures["between"]["common"] > 0.9
    assert figures["departures"]["common"] > 0.9
    assert figures["length"]["after"] == pytest.approx(figures["length"]["before"], rel=0.1)
    assert figures["gravity"] is None


@pytest.mark.slow
def test_every_promise_has_the_same_questions(folder, city_trips, tmp_path, capsys):
    """Crowds and noise are asked about the same squares, in the same words; the command line prints one line each."""
    matrix = fv.build_matrix(city_trips, CITY_BBOX, 64)
    noisy = fv.add_noise(matrix, "uniform", 1.0).write(tmp_path / "noisy")
    crowds, noise = (fv.evaluate(path, city_trips, questions=True) for path in (folder, noisy))

    code = run(["evaluate", str(noisy), "--against", str(city_trips), "--questions"])

    assert crowds["districts"] == noise["districts"]
    assert crowds.keys() == noise.keys()
    assert crowds["between"]["before"] == noise["between"]["before"]
    assert crowds["between"]["common"] > noise["between"]["common"]
    assert noise["peak_hour"] is None
    assert code == 0
    assert "Peak hour" in capsys.readouterr().out
    assert json.dumps(crowds)


def test_any_column_that_tells_districts_apart(halves):
    """Ids only label answers: those of the input's zones are taken if they are there, else any; typed ones must be."""
    numbered = halves.rename(columns={"zone_id": "Bezirk"}).assign(row=[7, 8])[["row", "Bezirk", "geometry"]]

    assert read_districts(numbered, {}, None).ids == ["7", "8"]
    assert read_districts(numbered, {"zone_id": "Bezirk"}, None).ids == ["east half", "west half"]
    assert read_districts(numbered, {"zone_id": "other"}, None).ids == ["7", "8"]
    with pytest.raises(fv.UnknownNameError, match="other"):
        read_districts(numbered, {"zone_id": "other"}, "zone_id=other")


def test_numbers_of_rows_are_no_zones(halves, tmp_path):
    """Trips that name zones 1 and 2 are not counted in districts that happen to have these numbers: places decide."""
    zones = tmp_path / "zones.parquet"
    halves.assign(zone_id=["1", "2"]).to_parquet(zones)
    trips = pd.DataFrame({"origin": ["1"] * 30 + ["2"] * 10, "destination": ["1"] * 40})
    flows = fv.build_flows(trips, zones=zones, hierarchy="ward")
    folder = fv.anonymize(flows, "suppression", 1).write(tmp_path / "out")
    turned = halves.assign(row=[2, 1])[["row", "geometry"]].assign(also=["x", "y"])

    figures = fv.evaluate(folder, trips, questions=True, zones=turned)

    assert figures["departures"]["common"] == pytest.approx(1)


def test_options_of_metrics_do_not_go_with_questions(folder, city_trips):
    """What questions have no use for is refused."""
    with pytest.raises(fv.InputError, match="tiles"):
        fv.evaluate(folder, city_trips, questions=True, tiles="all")


@pytest.fixture(scope="module")
def twins():
    """Return samples of phones, each carried by two users: paths of two lose no more than a cell and a minute."""
    table = phones(8, samples=50, days=5).to_pandas()
    return pa.Table.from_pandas(pd.concat([table, table.assign(user_id=table["user_id"] + "'")]), preserve_index=False)


def moves_of(samples):
    """Return the moves of samples by pandas and pyproj: kilometers and hour of each."""
    rows = samples.to_pandas().sort_values(["user_id", "time"])
    west, south, east, north = PHONES_BBOX
    rows = rows[rows["lon"].between(west, east) & rows["lat"].between(south, north)]
    after = rows.groupby("user_id")[["lon", "lat"]].shift(-1)
    far = pyproj.Geod(ellps="WGS84").inv(rows["lon"], rows["lat"], after["lon"], after["lat"])[2]
    moved = pd.Series(far, rows.index)[after["lon"].notna()]
    return moved[moved > 200] / 1000, rows["time"].dt.hour[moved[moved > 200].index]


@pytest.mark.slow
def test_paths_are_asked_about_moves(twins, tmp_path, capsys):
    """Before are the moves of the samples, counted plainly; paths that say nearly all give nearly the same answers."""
    path = tmp_path / "paths"
    data = fv.trajectories.read_trajectories(twins, PHONES_BBOX)
    fv.trajectories.anonymize(data, k=2).write(path)
    pq.write_table(twins, tmp_path / "samples.parquet")
    kilometers, hours = moves_of(twins)

    figures = fv.evaluate(path, twins, questions=True)
    code = run(["evaluate", str(path), "--against", str(tmp_path / "samples.parquet"), "--questions"])

    whole = figures["between"]["before"] / (1 - figures["districts"]["outside"])
    assert whole == pytest.approx(len(kilometers))
    assert figures["length"]["before"] == pytest.approx(kilometers.mean(), rel=0.03)  # of those inside the squares
    assert figures["peak_hour"]["before"] in hours.value_counts().head(3).index
    assert figures["between"]["after"] == pytest.approx(figures["between"]["before"], rel=0.05)
    for question in ("between", "departures", "length", "peak_hour"):
        assert figures[question]["common"] > 0.85, question
    assert code == 0
    assert "A trip is" in capsys.readouterr().out


@pytest.mark.slow
def test_coarse_paths_answer_worse(twins, tmp_path):
    """Of eight users in one group not much is left, and the private report says so in the same words."""
    data = fv.trajectories.read_trajectories(twins, PHONES_BBOX)
    paths = [fv.trajectories.anonymize(data, k=k).write(tmp_path / f"of-{k}") for k in (2, 8)]

    fine, coarse = (fv.evaluate(path, twins, questions=True) for path in paths)
    page = fv.report(paths[1], twins).read_text(encoding="utf-8")

    assert fine.keys() == coarse.keys()
    assert fine["districts"] == coarse["districts"]
    assert coarse["between"]["common"] < fine["between"]["common"]
    assert "Strongest flows between districts" in page
    bare = pd.DataFrame({"zone_id": ["a", "b"], "lon": [4.5, 4.6], "lat": [50.3, 50.4]})
    with pytest.raises(fv.InputError, match="outlines"):
        fv.evaluate(paths[0], twins, questions=True, zones=bare)
