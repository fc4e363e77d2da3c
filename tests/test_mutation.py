"""Mutants are small mistakes in what runs, and a test that would find one does."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource", reason="needs forks and limits of processes")

from reliability.mutation.mutants import mutants_of, mutated
from reliability.mutation.rooms import ROOMS
from reliability.mutation.running import HOUSE, ROOT, in_child, lay_over

TEXT = '''
"""A docstring is no code."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    LIMIT = 3

def enough(crowd: int, k: int = 2) -> bool:
    """Say whether."""
    if crowd >= k and not crowd < 0:
        return True
    raise ValueError("too few")
'''


def test_mistakes(tmp_path):
    """Boundaries, negation, constants, logic, answers and what is left out, each by itself; only what runs."""
    path = tmp_path / "enough.py"
    path.write_text(TEXT)

    mutants = mutants_of(path, "enough.py")

    made = [mutated(path, mutant) for mutant in mutants]
    texts = [[text.partition(":")[0] for text in (before, after)] for _, before, after in made]
    found = {(mutant.line, *pair) for mutant, pair in zip(mutants, texts, strict=True)}
    assert found == {
        (7, "2", "3"),
        (7, "2", "1"),
        (9, "crowd >= k", "crowd > k"),
        (9, "crowd >= k", "crowd < k"),
        (9, "crowd >= k and (not crowd < 0)", "crowd >= k or not crowd < 0"),
        (9, "crowd >= k and (not crowd < 0)", "crowd >= k"),
        (9, "crowd >= k and (not crowd < 0)", "not crowd < 0"),
        (9, "if crowd >= k and (not crowd < 0)", "if not (crowd >= k and (not crowd < 0))"),
        (9, "not crowd < 0", "crowd < 0"),
        (9, "crowd < 0", "crowd <= 0"),
        (9, "crowd < 0", "crowd >= 0"),
        (9, "0", "1"),
        (10, "return True", "return None"),
        (10, "True", "False"),
        (11, "raise ValueError('too few')", "pass"),
    }
    assert len({mutant.key for mutant in mutants}) == len(mutants)
    for tree, *_ in made:
        names = {}
        exec(compile(tree, "enough.py", "exec"), names)  # noqa: S102  each is a program
        assert names["enough"].__name__ == "enough"


@pytest.mark.slow
def test_a_mutant_is_what_a_program_runs(tmp_path):
    """A folder with one mutated file and links to the others is the flowveil that a program imports."""
    text = (HOUSE / "_problem" / "requirement.py").read_text(encoding="utf-8")
    lay_over(tmp_path, "_problem/requirement.py", text.replace("k: int = 10", "k: int = 11"))

    done = subprocess.run(
        [sys.executable, "-c", "from flowveil._problem import Requirement; print(Requirement())"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (tmp_path / "flowveil" / "_methods").is_symlink()
    assert done.stdout.startswith("Requirement(k=11,")


@pytest.mark.parametrize(("end", "status"), [("return", 0), ("fail", 1), ("raise", 3)])
def test_how_a_child_ends(end, status):
    """A child tells what it does last, and how it ended."""

    def work(tell):
        tell("begun")
        tell("at work")
        if end == "raise":
            raise ValueError
        return status

    assert in_child(work, 60) == (status, "at work")


def test_every_room_has_files_and_tests():
    """The patterns of the table find something, each of them."""
    for room in ROOMS:
        assert all(list(HOUSE.glob(pattern)) for pattern in room.sources.split()), room.name
        for name in room.tried_by.split():
            assert list(ROOT.glob(f"tests/test_{name}.py")), name
