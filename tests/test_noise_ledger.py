"""The ledger: every draw is charged, every path is checked, OpenDP's maps confirm the charges."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import flowveil
from flowveil import InputError, PromiseError
from flowveil._noise import PARTS, Ledger, draws


def nodes(*numbers):
    """Return node numbers as an array."""
    return np.array(numbers, np.int64)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "1"])
def test_bad_epsilon(epsilon):
    """A budget is a positive finite number."""
    with pytest.raises(InputError, match="epsilon"):
        Ledger(epsilon)


def test_spends_a_path_to_the_end():
    """What is left goes to the leaf, and the path then costs epsilon, no more."""
    ledger = Ledger(0.7)
    ledger.count("total", ledger.roots, nodes(5), PARTS // 100)
    leaves = ledger.children(nodes(0, 0, 0))

    _, charged = ledger.publish("cells", leaves, nodes(1, 2, 2))

    assert charged.tolist() == [PARTS - PARTS // 100] * 3
    assert ledger.largest_path() == 0.7
    assert (ledger.left(leaves) == 0).all()


def test_total_is_the_largest_path_not_the_sum():
    """Siblings are disjoint: spending on both costs as much as spending on one."""
    ledger = Ledger(1.0)
    left, right = ledger.children(nodes(0, 0))

    ledger.count("left", nodes(left), nodes(3), PARTS // 2)
    ledger.count("right", nodes(right), nodes(3), PARTS // 4)

    assert ledger.largest_path() == 0.5


def test_overspending_raises_before_the_draw():
    """A run cannot spend more than it was given, on any path."""
    ledger = Ledger(1.0)
    ledger.count("total", ledger.roots, nodes(5), PARTS // 2)
    first, second = ledger.children(nodes(0, 0))
    ledger.count("first", nodes(first), nodes(3), PARTS // 2)

    with pytest.raises(PromiseError, match="times the epsilon"):
        ledger.count("both", nodes(first, second), nodes(3, 2), 1)
    assert ledger.largest_path() == 1.0


def test_nothing_is_left_after_publishing():
    """A second release of the same leaf has no budget."""
    ledger = Ledger(1.0)
    ledger.publish("cells", ledger.roots, nodes(5))

    with pytest.raises(PromiseError, match="nothing is left"):
        ledger.publish("cells again", ledger.roots, nodes(5))


def test_parents_are_closed():
    """A charge to a parent after its children were made would be missing from their paths."""
    ledger = Ledger(1.0)
    ledger.children(nodes(0, 0))

    with pytest.raises(PromiseError, match="children"):
        ledger.count("late", nodes(0), nodes(5), 1)
    with pytest.raises(PromiseError, match="children"):
        ledger.children(nodes(0))


def test_one_node_twice_in_one_charge():
    """The nodes of one charge are disjoint."""
    ledger = Ledger(1.0)

    with pytest.raises(PromiseError, match="twice"):
        ledger.count("cells", nodes(0, 0), nodes(5, 5), 1)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, 3.7, 17.3])
def test_opendp_confirms_every_charge(epsilon):
    """The scale is 1 / epsilon but for rounding, and OpenDP's own map says it costs at most the charge."""
    ledger = Ledger(epsilon)
    for parts in (1 << 20, PARTS // 100, PARTS // 3, PARTS):
        charge = ledger.epsilon_of(parts)
        mechanism, scale = draws._laplace(charge)

        assert mechanism.map(1) <= charge <= epsilon * parts / PARTS
        assert scale == pytest.approx(1 / charge, rel=1e-12)
        assert draws._noisy_min(2, charge).map(2) <= charge


def test_mutant_noisy_min_of_half_the_scale_is_caught_by_the_ledger(monkeypatch):
    """Scores are not monotone: 2 / epsilon in place of 4 / epsilon costs twice the charge, says OpenDP's map."""
    monkeypatch.setattr(draws, "noisy_min_scale", lambda sensitivity, epsilon: sensitivity / epsilon)
    draws._noisy_min.cache_clear()
    ledger = Ledger(2.0)

    with pytest.raises(PromiseError, match="OpenDP does not confirm"):
        ledger.choose("cuts", 0, nodes(4, 2, 9), 2, PARTS // 7)
    draws._noisy_min.cache_clear()


def test_mutant_budget_spent_twice_is_caught_by_the_ledger():
    """Publishing leaves with all of epsilon after the total was paid from it raises."""
    ledger = Ledger(2.0)
    ledger.count("total", ledger.roots, nodes(5), PARTS // 100)

    with pytest.raises(PromiseError, match=r"1\.01 times the epsilon"):
        ledger.count("cells", ledger.roots, nodes(5), PARTS)


def test_missing_extra(monkeypatch):
    """Without OpenDP the error says what to install."""
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    draws._opendp.cache_clear()

    with pytest.raises(InputError, match=r"pip install 'flowveil\[dp\]'"):
        draws._opendp()
    draws._opendp.cache_clear()


def test_no_other_noise_in_the_package():
    """Noise comes from OpenDP in one room: numpy draws no distribution but for synthetic trips and paths."""
    root = Path(flowveil.__file__).parent
    distribution = re.compile(r"\.(laplace|normal|exponential|geometric|gumbel|poisson|standard_\w+)\(")
    opendp = re.compile(r"^\s*(import|from) opendp", re.MULTILINE)
    texts = {path.relative_to(root): path.read_text(encoding="utf-8") for path in root.rglob("*.py")}

    drawing = {str(path) for path, text in texts.items() if path.parts[0] != "_synthetic" and distribution.search(text)}
    assert drawing <= {"_study/inputs.py", "_synthesis/drawing.py"}  # made-up points; paths, after the noise
    assert [str(path) for path, text in texts.items() if opendp.search(text)] == ["_noise/draws.py"]


def test_what_uses_random_numbers_without_noise():
    """Where matrices are made, numpy draws only candidate cuts, without data, and the queries of workloads."""
    root = Path(flowveil.__file__).parent
    draws = re.compile(r"np\.random\.(?!Generator)|default_rng|RandomState|import random|SystemRandom")
    files = [path for room in ("_noise", "_matrices") for path in (root / room).glob("*.py")]
    found = {path.name for path in files if draws.search(path.read_text(encoding="utf-8"))}

    assert found == {"public.py", "workloads.py"}


def test_no_seed_of_noise():
    """Noise cannot be seeded: in the rooms that draw it, only the queries of workloads take a seed."""
    root = Path(flowveil.__file__).parent
    rooms = [*(root / "_noise").glob("*.py"), *(root / "_matrices").glob("*.py"), root / "_cli" / "noise.py"]
    signatures = [path for path in rooms if re.search(r"def \w+\([^)]*\bseed\b", path.read_text(encoding="utf-8"))]

    assert {path.name for path in signatures} == {"workloads.py", "measure.py"}
