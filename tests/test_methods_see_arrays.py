"""A method sees arrays: trees, pairs of tiles and where these lie, but nothing of files, columns, grids or zones."""

from __future__ import annotations

import ast
from pathlib import Path

import flowveil

METHODS = sorted((Path(flowveil.__file__).parent / "_methods").glob("*.py"))
ROOMS = {"_arrays", "_compiled", "_errors", "_methods", "_options", "_problem", "_processes"}
TREES = {
    "_flows.add_by_group",  # how trips are added up
    "_flows.without_pairs",  # and taken out
    "_places.Hierarchy",
    "_places.ROOT",
    "_places.UNIT",
    "_places.Ways",
}  # what a tree is, and what coordinates are counted in
HIDDEN = {"places", "provenance"}  # of flows


def test_imports():
    """Methods import the problem and what lies below it; of places only what a tree of arrays is."""
    names = {
        f"{node.module.removeprefix('flowveil.')}.{alias.name}"
        for path in METHODS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("flowveil")
        for alias in node.names
    }

    assert "_problem.Problem" in names
    assert {name for name in names if name.split(".")[0] not in ROOMS} <= TREES


def test_attributes():
    """Flows know places and where they come from: methods do not ask them."""
    asked = [
        f"{path.name}:{node.lineno}"
        for path in METHODS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in HIDDEN
    ]

    assert len(METHODS) > 20
    assert asked == []
