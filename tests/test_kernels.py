"""Compiled loops: what is written down of them holds."""

from __future__ import annotations

import ast
from pathlib import Path

import flowveil

MOST_ARGUMENTS = 6
ROOT = Path(flowveil.__file__).parent


def compiled_functions():
    """Return the functions that numba compiles: decorated, or given to njit under a name without the underscore."""
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("njit("):
                yield path, functions[ast.unparse(node.value.args[0])]
        for function in functions.values():
            if any(ast.unparse(decorator) == "compiled" for decorator in function.decorator_list):
                yield path, function


def test_arguments_are_named():
    """No loop takes so many arguments that one could be mistaken for another: arrays come in named tuples."""
    counts = {f"{path.stem}.{node.name}": len(node.args.args) for path, node in compiled_functions()}

    assert len(counts) > 40
    assert {name: count for name, count in counts.items() if count > MOST_ARGUMENTS} == {}
