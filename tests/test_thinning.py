"""What was left out between two places is less than a flow needs, however much a model expects there."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import geom, nbinom

import flowveil as fv
from flowveil._reading.thinning import mean_below, median, thinned


@settings(max_examples=40, deadline=None)
@given(st.floats(0.01, 500), st.integers(2, 60))
def test_mean_of_small_numbers(mean, below):
    """The mean of what is below a limit is that of adding up the distribution."""
    numbers = np.arange(below)
    chance = geom.pmf(numbers + 1, 1 / (1 + mean))
    assert mean_below(np.array([mean]), below)[0] == pytest.approx(numbers @ chance / chance.sum(), rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.just(0.0) | st.floats(1e-6, 1e4), st.floats(1, 50)), min_size=1, max_size=30),
    st.floats(0.1, 200),
    st.sampled_from([np.inf, 10.0, 12.5]),
)
def test_all_of_the_total_is_placed(expected, total, below):
    """Whatever is expected, factors are not negative and what they give adds up; nothing is placed on nothing."""
    values = np.array([value for value, _ in expected])
    blocks = np.array([value * times for value, times in expected])
    placed = thinned(values, blocks, total, below) * values
    assert (placed >= 0).all()
    assert placed.sum() == pytest.approx(total if values.sum() > 0 else 0)
    if np.isinf(below):
        assert placed == pytest.approx(values * total / values.sum() if values.sum() > 0 else values)


def test_dense_places_get_less_than_in_proportion():
    """Where ten times as much is expected, less than ten times as much is placed, and less than the limit."""
    expected = np.array([1.0, 10.0, 100.0])
    placed = thinned(expected, expected, 9, 10) * expected
    assert placed[0] < placed[1] < placed[2] < 10
    assert placed[2] < 2 * placed[1] < 20 * placed[0]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 20), min_size=1, max_size=12))
def test_median_of_sums(parts):
    """The median is that of the negative binomial distribution with the mean and the variance of the sum."""
    means = np.array(parts)
    mean, square = means.sum(), (means**2).sum()
    found = median(np.array([mean]), np.array([square]))[0]
    if mean < 0.5:
        assert found == 0
    else:
        shape = mean**2 / square
        assert nbinom.cdf(found, shape, shape / (shape + mean)) >= 0.5 - 1e-9
        assert found == 0 or nbinom.cdf(found - 1, shape, shape / (shape + mean)) < 0.5 + 1e-9
        assert found <= np.ceil(mean)


def test_left_out_is_less_than_a_flow():
    """Between zones that send and receive a lot but have no flow, fewer than k trips are guessed."""
    draw = np.random.default_rng(1)
    count, k = 24, 20
    mass = draw.pareto(1.5, count) + 0.2
    expected = 40_000 * np.outer(mass, mass) / mass.sum() ** 2
    trips = draw.poisson(expected * draw.gamma(0.7, 1 / 0.7, (count, count)))
    origin, destination = np.nonzero(trips)
    names = np.array([f"z{number:02}" for number in range(count)])
    table = pa.table({"origin": names[origin], "destination": names[destination], "count": trips[origin, destination]})
    at = np.arange(count)
    zones = pa.table({"zone_id": names, "lon": 8 + at % 6 * 0.02, "lat": 50 + at // 6 * 0.02})
    release = fv.anonymize(fv.build_flows(table, zones=zones, hierarchy="ward"), k=k, max_suppression=0.1)
    flows = fv.reconstruct(release, pa.table({"zone_id": names})).flows
    guessed = flows["left_out"].to_numpy()
    assert guessed.sum() > 0.01 * trips.sum()
    assert guessed.max() < k
    even = fv.reconstruct(release, pa.table({"zone_id": names}), spread="even").flows
    assert _off(flows, trips, names) < 0.9 * _off(even, trips, names)


def _off(flows, trips, names):
    """Return the sum of differences between estimates and true trips."""
    number = {name: place for place, name in enumerate(names)}
    guessed = np.zeros(trips.shape)
    for row in flows.to_pylist():
        guessed[number[row["origin"]], number[row["destination"]]] += row["trips"] + row.get("left_out", 0)
    return np.abs(guessed - trips).sum()
