"""laplace: sparse draws have the distribution of dense ones, and releases hold what they say."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._matrices.laplace import laplace
from flowveil._matrices.points import Points
from flowveil._noise import PARTS, Ledger, positive_share, sparse
from flowveil.synthetic import CITY_BBOX
from tests.test_promise import set_value, write

ALPHA = 1e-6  # noise cannot be seeded
BBOX = ",".join(map(str, CITY_BBOX))


def histogram(values, most=8):
    """Count values from 0 to `most`, larger ones with the last."""
    return np.bincount(np.minimum(values, most), minlength=most + 1)


def same_distribution(one, other):
    """Return the p-value of two histograms having one distribution, rare values pooled."""
    both = np.array([one, other])
    last = int(np.flatnonzero(both.sum(axis=0) >= 20)[-1])
    pooled = np.column_stack([both[:, :last], both[:, last:].sum(axis=1)])
    return stats.chi2_contingency(pooled).pvalue


def sparse_values(side, epsilon, cells=(), counts=()):
    """Return the noisy matrix of a sparse run, laid out: what is not listed is 0."""
    points = Points(np.array(cells, np.int64).reshape(-1, 2), np.array(counts, np.int64), (side, side))
    listed = laplace(points, Ledger(epsilon), 10**7)
    values = np.zeros((side, side), np.int64)
    values[tuple(listed.cells.T)] = listed.counts
    return values


def dense_values(count, epsilon, true=0):
    """Return dense noise from OpenDP, negatives as 0."""
    ledger = Ledger(epsilon, roots=count)
    return np.maximum(ledger.count("test", ledger.roots, np.full(count, true), PARTS), 0)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_empty_pairs_are_those_of_dense_noise(epsilon):
    """Over 90,000 empty pairs, how many have which count is as with noise on every one of them."""
    sparse = histogram(sparse_values(300, epsilon).ravel())
    dense = histogram(dense_values(90_000, epsilon))

    assert same_distribution(sparse, dense) > ALPHA


@pytest.mark.slow
def test_another_scale_is_told_apart():
    """The test can fail: noise at an epsilon that is 10 % off has another distribution."""
    sparse = histogram(sparse_values(300, 1.0).ravel())

    assert same_distribution(sparse, histogram(dense_values(90_000, 1.1))) < ALPHA


@pytest.mark.slow
def test_full_pairs_are_those_of_dense_noise():
    """The same for pairs with two trips each."""
    cells = [(row, column) for row in range(150) for column in range(150)]
    sparse = sparse_values(150, 0.7, cells, [2] * len(cells))

    assert same_distribution(histogram(sparse.ravel()), histogram(dense_values(22_500, 0.7, 2))) > ALPHA


@pytest.mark.slow
def test_counts_of_one_release_are_independent():
    """On a matrix of two empty pairs, one with a trip and one with two, all four counts together fit their product."""
    epsilon, draws, most = 1.2, 2_500, 3
    seen = np.zeros((most + 1,) * 4, np.int64)
    for _ in range(draws):
        values = sparse_values(2, epsilon, [(0, 1), (1, 0)], [1, 2])
        seen[tuple(np.minimum(values.ravel(), most))] += 1

    decay = np.exp(-1 / Ledger(epsilon).scales(np.array([PARTS]))[0])
    noise = (1 - decay) / (1 + decay) * decay ** np.abs(np.arange(-60, 61))

    def clipped(true):
        values = np.clip(np.arange(-60, 61) + true, 0, most)
        return np.bincount(values, weights=noise, minlength=most + 1)

    expected = np.einsum("a,b,c,d->abcd", *(clipped(true) for true in (0, 1, 2, 0))).ravel() * draws
    rare = expected < 8
    seen = np.append(seen.ravel()[~rare], seen.ravel()[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > ALPHA


@pytest.mark.slow
def test_how_many_zeros_come_out_positive():
    """Their number is binomial, to the probability of noise above zero."""
    for zeros, scale in ((40, 0.8), (9, 3.0)):
        drawn = np.bincount([sparse.count_positive(zeros, scale) for _ in range(5_000)], minlength=zeros + 1)
        expected = stats.binom.pmf(np.arange(zeros + 1), zeros, positive_share(scale)) * 5_000
        rare = expected < 8
        seen, expected = (np.append(each[~rare], each[rare].sum()) for each in (drawn, expected))
        assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > ALPHA


@pytest.mark.parametrize("scale", [1e-2, 0.3, 1.0, 7.7, 1e4])
def test_bits_of_the_probability(scale):
    """The bits that draws are compared with are those of 1 / (1 + exp(1 / scale))."""
    bits = list(sparse._probability_bits(scale))

    assert sum(bit * 2.0 ** -(place + 1) for place, bit in enumerate(bits)) == pytest.approx(
        1 / (1 + np.exp(1 / scale)), rel=1e-12
    )


@pytest.mark.parametrize("epsilon", [1e-9, 60.0, 100.0])
def test_far_budgets(epsilon):
    """Hardly any budget makes every other pair positive; a huge one none."""
    scale = Ledger(epsilon).scales(np.array([PARTS]))[0]

    found = sparse.count_positive(10_000, scale)

    assert abs(found - 5_000) < 500 if epsilon < 1 else found == 0
    assert positive_share(scale) == pytest.approx(0.5 if epsilon < 1 else 0, abs=1e-6)


@pytest.mark.parametrize("bits", [1, 7, 8, 9, 64, 1001])
def test_ones_of_random_bits(bits):
    """As many bits are counted as were asked for: all of them at most, half of them on average."""
    drawn = np.array([sparse._ones(bits) for _ in range(2_000)])

    assert drawn.max() <= bits
    assert abs(drawn.mean() - bits / 2) < 6 * np.sqrt(bits / 4 / 2_000)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 300), st.data())
def test_places_are_free_and_distinct(among, data):
    """Places are inside, apart from each other and from those that are taken, also when all that is free is drawn."""
    taken = np.array(sorted(data.draw(st.sets(st.integers(0, among - 1)))), np.int64)
    count = data.draw(st.integers(0, among - len(taken)))

    places = sparse.draw_places(count, among, taken)

    assert len(places) == count == len(set(places.tolist()) - set(taken.tolist()))
    assert all(0 <= place < among for place in places.tolist())
    assert places.tolist() == sorted(places.tolist())


def test_places_are_uniform():
    """Each subset of free places is as likely."""
    drawn = [tuple(sparse.draw_places(2, 6, np.array([1, 4])).tolist()) for _ in range(6_000)]
    subsets, counts = np.unique(drawn, axis=0, return_counts=True)

    assert len(subsets) == 6
    assert stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.slow
def test_too_large_is_refused_without_a_look_at_the_trips(city_trips):
    """The number that would come out above zero follows from the tiles and epsilon alone, and nothing is drawn."""
    empty = Points(np.zeros((0, 2), np.int64), np.zeros(0, np.int64), (3_000, 3_000))
    ledger = Ledger(1.0)

    with pytest.raises(fv.InputError, match="about 2,420,473 of 9,000,000 pairs of tiles"):
        laplace(empty, ledger)
    assert ledger.spends == []
    with pytest.raises(fv.InputError, match="pairs of tiles would come out above zero"):
        fv.add_noise(fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:10"), "laplace", 1.0)


def test_one_file_draws_bits():
    """Random bits of the operating system are used in one file of the rooms where noise is made."""
    from pathlib import Path

    root = Path(fv.__file__).parent
    files = [path for room in ("_noise", "_matrices") for path in (root / room).glob("*.py")]

    assert [path.name for path in files if "urandom" in path.read_text(encoding="utf-8")] == ["sparse.py"]
    assert [path.name for path in files if "import secrets" in path.read_text(encoding="utf-8")] == []


def test_no_trip_is_no_error():
    """A matrix without trips is released like any other: that it is empty is private."""
    values = sparse_values(20, 1.0)

    assert values.min() == 0
    assert 50 < (values > 0).sum() < 180  # 107.6 expected of 400


@pytest.fixture(scope="module", params=["grid", "zones"])
def written(request, city_trips, city_zone_trips, tmp_path_factory):
    """Return a verified release on the tiles of a box, or on zones."""
    folder = tmp_path_factory.mktemp("laplace") / "out"
    matrix = fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:6")
    if request.param == "zones":
        matrix = fv.build_tile_matrix(
            city_zone_trips,
            zones=city_zone_trips.with_name("zones.parquet"),
            unit="person_id",
            max_trips_per_person=5,
        )
    fv.add_noise(matrix, "laplace", 1.0).write(folder)
    fv.verify(folder)
    return folder


@pytest.mark.slow
def test_what_is_written(written):
    """Pairs of tiles with counts above zero; empty tiles of the box are among them; the manifest says so."""
    manifest = json.loads((written / "manifest.json").read_text())
    flows = pq.read_table(written / "flows.parquet")

    assert flows["trips"].to_numpy().min() >= 1
    assert flows["nonnegative"].equals(flows["trips"])
    assert manifest["promise"]["kind"] == "differential-privacy"
    assert manifest["promise"]["budget"] == []
    assert "those below one are not listed" in manifest["promise_text"]
    assert "may have had no trips" in manifest["absence"]
    assert len(np.unique(flows["scale"].to_numpy())) == 1


def zero(flows):
    """One count is 0."""
    return set_value(set_value(flows, "trips", 0, 0), "nonnegative", 0, 0)


def twice(flows):
    """One flow is listed twice."""
    return flows.take([0, *range(flows.num_rows)])


def foreign(flows):
    """One area is not of the grid."""
    return set_value(flows, "origin", 0, "zzz")


def finer_noise(flows):
    """One count says that it has less noise than epsilon pays for."""
    return set_value(flows, "scale", 0, flows["scale"][0].as_py() / 2)


MUTANTS = [
    (zero, "a count is below one"),
    (twice, "is listed twice"),
    (foreign, "an area is not one of the grid"),
    (finer_noise, "does not fit any path of the budget"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mutate", "reason"), MUTANTS)
def test_mutants_are_caught(written, tmp_path, mutate, reason):
    """A release that was tampered with does not verify."""
    (tmp_path / "out").mkdir()
    for name in ("manifest.json", "areas.parquet"):
        (tmp_path / "out" / name).write_bytes((written / name).read_bytes())
    (tmp_path / "out.audit.json").write_bytes(written.with_name("out.audit.json").read_bytes())
    write(mutate(pq.read_table(written / "flows.parquet")), tmp_path / "out" / "flows.parquet")

    with pytest.raises(fv.VerificationError, match=reason):
        fv.verify(tmp_path / "out")


@pytest.mark.slow
def test_sums_are_refused(written):
    """Counts that lost their negative ones do not add up, so sums are not answered."""
    with pytest.raises(fv.InputError, match="too large"):
        fv.query(written)


@pytest.mark.slow
def test_command_line(city_trips, city_zone_trips, tmp_path, capsys):
    """The command releases pairs of tiles or zones, and verifies them; so does noisy-mosaic."""
    zones = str(city_zone_trips.with_name("zones.parquet"))
    on_zones = ["anonymize", str(city_zone_trips), "--zones", zones, "--epsilon", "1"]

    assert run([*on_zones, "--method", "laplace", "-o", str(tmp_path / "zones")]) == 0
    assert run(["verify", str(tmp_path / "zones")]) == 0
    (tmp_path / "zones.audit.json").unlink()
    assert run(["verify", str(tmp_path / "zones")]) == 2
    assert run([*on_zones, "-o", str(tmp_path / "out")]) == 0
    assert run(["verify", str(tmp_path / "out")]) == 0
    on_grid = ["anonymize", str(city_trips), "--bbox", BBOX, "--grid", "h3:6", "--epsilon", "1"]
    assert run([*on_grid, "--method", "laplace", "-o", str(tmp_path / "grid")]) == 0
    assert run([*on_grid, "--method", "laplace", "--zones", zones, "-o", str(tmp_path / "both")]) == 2
    assert "error: " in capsys.readouterr().err
