"""The noise has the distribution it claims: chi-square at alpha 1e-6, since OpenDP cannot be seeded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from flowveil._noise import PARTS, Ledger

ALPHA = 1e-6
DRAWS = 100_000


@pytest.fixture(scope="module")
def noise():
    """Draw noise around a count of 7 at epsilon 0.5, and return it with its scale."""
    ledger = Ledger(0.5, roots=DRAWS)
    values = ledger.count("test", ledger.roots, np.full(DRAWS, 7), PARTS)
    return values - 7, ledger.scales(np.array([PARTS]))[0]


def p_value(noise, scale):
    """Compare noise with the discrete Laplace distribution P(x) ~ exp(-|x| / scale), tails pooled."""
    decay = np.exp(-1 / scale)
    edge = 12
    inner = np.arange(-edge, edge + 1)
    expected = (1 - decay) / (1 + decay) * decay ** np.abs(inner)
    tail = decay ** (edge + 1) / (1 + decay)
    expected = np.concatenate([[tail], expected, [tail]]) * len(noise)
    seen = np.bincount(np.clip(noise, -edge - 1, edge + 1) + edge + 1, minlength=len(expected))
    return stats.chisquare(seen, expected).pvalue


@pytest.mark.slow
def test_noise_at_its_scale(noise):
    """The scale is 1 / epsilon, and the noise fits it."""
    values, scale = noise

    assert scale == pytest.approx(2.0)
    assert p_value(values, scale) > ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_noise_at_another_scale(noise, factor):
    """The test can fail: a scale that is 30 % off is rejected, in both directions."""
    values, scale = noise

    assert p_value(values, factor * scale) < ALPHA


@pytest.mark.slow
def test_charge_decides_the_scale():
    """Half of the budget buys noise of twice the scale."""
    ledger = Ledger(0.5, roots=DRAWS // 2)
    values = ledger.count("test", ledger.roots, np.zeros(DRAWS // 2, np.int64), PARTS // 2)

    assert p_value(values, 4.0) > ALPHA
    assert p_value(values, 2.0) < ALPHA
