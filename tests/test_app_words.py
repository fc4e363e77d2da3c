"""The words of the web app: no message names an option of the command line, and settings are said as commands."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import flowveil as fv
from flowveil._app.words import error_in_words, in_words
from flowveil._errors import FlowveilError

HOUSE = Path(fv.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*\b|(?<![\w-])-k\b")
APART = {"_cli", "_verify", "_app", "_report", "_folder"}  # speak on terminals, or to the reader of a folder


def sentences():
    """Return texts of the library that name an option of the command line."""
    for file in sorted(HOUSE.rglob("*.py")):
        if file.relative_to(HOUSE).parts[0] in APART:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if " " in text.strip() and "\n" not in text and OPTION.search(text):
                yield text


@pytest.mark.slow
def test_no_message_names_an_option():
    """Whatever the library can say reaches the page without options, but in a whole command."""
    found = list(sentences())

    told = [in_words(text) for text in found if "flowveil " not in text]
    assert len(found) > 50
    assert [text for text in told if OPTION.search(text)] == []


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("map it with --columns start_time=YOUR_COLUMN", "map it with the tags of the columns"),
        ("allow more with --max-suppression, lower k", "allow more with the slider, lower k"),
        ("a crowd needs 2 users or more: give -k 2 or more", "a crowd needs 2 users or more: give k = 2 or more"),
        (
            "give --bbox W,S,E,N in degrees, e.g. --bbox=-122.5,37,-122.3,37.9 (no others)",
            "give limits in degrees (no others)",
        ),
        ("there is no column '--where'", "there is no column '--where'"),  # what a user wrote
        ("start with flowveil serve --upload-limit 10GB", "start with flowveil serve --upload-limit 10GB"),
    ],
)
def test_words(said, shown):
    """Options become words of the page; what users wrote and whole commands stay."""
    assert in_words(said) == shown
    assert error_in_words(FlowveilError(said, said)) == (shown, shown)
