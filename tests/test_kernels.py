"""Compiled loops: what is written down of them holds."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import flowveil
from flowveil._compiled import NamedFiles, compiled

MOST_ARGUMENTS = 6
ROOT = Path(flowveil.__file__).parent


def compiled_functions():
    """Return the functions that are compiled: decorated, or taken by `compiled` under a name without underscore."""
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("compiled("):
                yield path, functions[ast.unparse(node.value.args[0])]
        for function in functions.values():
            if any(ast.unparse(decorator) == "compiled" for decorator in function.decorator_list):
                yield path, function


@pytest.mark.slow
def test_arguments_are_named():
    """No loop takes so many arguments that one could be mistaken for another: arrays come in named tuples."""
    counts = {f"{path.stem}.{node.name}": len(node.args.args) for path, node in compiled_functions()}

    assert len(counts) > 40
    assert {name: count for name, count in counts.items() if count > MOST_ARGUMENTS} == {}


def saved_at_once(folder, monkeypatch, kind):
    """Return what is found after two processes saved a loop for other types, both before either saw the other's."""
    one, two = (kind(str(folder), "loop", "stamp") for _ in range(2))
    save = one._save_data
    monkeypatch.setattr(two, "_load_index", dict)

    def meanwhile(name, data):
        two.save("wide", "code for wide numbers")
        save(name, data)

    monkeypatch.setattr(one, "_save_data", meanwhile)
    one.save("narrow", "code for narrow numbers")
    return [kind(str(folder), "loop", "stamp").load(key) for key in ("narrow", "wide")]


def test_a_loop_for_other_types_is_never_run(tmp_path, monkeypatch):
    """Two processes may compile at the same time: what one has lost is compiled again, not taken from the other."""
    found = saved_at_once(tmp_path, monkeypatch, NamedFiles)

    assert found == ["code for narrow numbers", "code for wide numbers"]


def test_numba_would_run_it(tmp_path, monkeypatch):
    """If this fails, numba names its files better now, and `NamedFiles` can go."""
    found = saved_at_once(tmp_path, monkeypatch, NamedFiles.__base__)

    assert found == [None, "code for narrow numbers"]


def test_code_of_an_older_file_is_never_run(tmp_path, monkeypatch):
    """The index says which file the code is of: it is written after the code."""
    NamedFiles(str(tmp_path), "loop", "old").save("wide", "old code")
    new = NamedFiles(str(tmp_path), "loop", "new")
    monkeypatch.setattr(new, "_save_data", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        new.save("wide", "new code")

    assert NamedFiles(str(tmp_path), "loop", "new").load("wide") is None


def test_compiled_loops_are_kept():
    """A loop is found again for the types it was compiled for."""
    kinds = [np.int32, np.int64, np.float64]
    expected = [sum(range(4))] * len(kinds)
    assert [_sum_of(np.arange(4, dtype=kind)) for kind in kinds] == expected
    again = compiled(_sum_of.py_func)

    assert [again(np.arange(4, dtype=kind)) for kind in kinds] == expected
    assert sum(again.stats.cache_hits.values()) == len(kinds)


@compiled
def _sum_of(numbers):
    total = 0
    for number in numbers:
        total += number
    return total
