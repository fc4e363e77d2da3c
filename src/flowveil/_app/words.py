"""What the library says, in the words of the page: it has steps and fields where the command line has options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowveil._errors import FlowveilError

# Commands and what users wrote stay. An option goes with its value, which would make no sense beside most words.
_OPTION = re.compile(
    r"""flowveil [a-z][^;,]*|'[^']*'|"[^"]*"|"""
    r"""(?<![\w-])-(?:-(?P<name>[a-z][a-z-]*[a-z])|(?P<letter>k))\b"""
    r"""(?:[= ](?P<value>[A-Z]\w*(?:[,:=]\w+)*|\d\w*(?:[.,]\w+)*|-?\d[-\d.,]*\d|\w+[=:]\w*|h3\S*\b|\w+-\w+"""
    r"""|spark|duckdb|laplace|ward)|=)?"""
)
_EXAMPLE = re.compile(r",? e\.g\. -(?:-[a-z-]+|k)[= ][^\s;)]*")
_VALUED = {"hierarchy": "how places join: {}", "k": "k = {}", "method": "the method {}", "step": "the step {}"}
_ONLY_TYPED = "{} (the command line has it)"
_WORDS = {
    "bbox": "limits",
    "by": "a column of groups",
    "cells": _ONLY_TYPED.format("a number of cells"),
    "columns": "the tags of the columns",
    "contact": "the contact",
    "crs": "the projection of the squares",
    "elsewhere": "“going elsewhere”",
    "engine": _ONLY_TYPED.format("another engine"),
    "epsilon": "epsilon",
    "frames": _ONLY_TYPED.format("frames of the day"),
    "grid": "hexagons or squares",
    "hierarchy": "how places join",
    "hide-choice": _ONLY_TYPED.format("a secret draw of areas"),
    "k": "k",
    "k-weight": "the fewest people that a flow stands for",
    "license": "the license",
    "loss": "what to lose little of",
    "master": _ONLY_TYPED.format("a cluster"),
    "max-suppression": "the slider",
    "max-trips-per-person": "trips of a person that count",
    "max-unusable": _ONLY_TYPED.format("a larger share of unusable rows"),
    "memory": _ONLY_TYPED.format("the memory allowed"),
    "method": "the method",
    "min-samples": "the fewest samples of a person",
    "min-tiles": "the fewest tiles at both ends",
    "option": "the options of the method",
    "overwrite": _ONLY_TYPED.format("overwriting"),
    "period": "the period",
    "preset": "the preset",
    "publisher": "who publishes",
    "remainders": "remainders",
    "time": "steps of time",
    "time-hierarchy": "a hierarchy of time",
    "step": "the step of the grid",
    "timezone": "the time zone",
    "title": "the title",
    "totals": "totals",
    "unit": "a column of persons",
    "unit-label": "what the column of persons tells apart",
    "weight": "a column of weights",
    "where": _ONLY_TYPED.format("a condition"),
    "zones": "a file of zones",
}


def in_words(text: str) -> str:
    """Return text with the words of the page in the place of options of the command line.

    >>> in_words("map it with --columns start_time=YOUR_COLUMN")
    'map it with the tags of the columns'
    """
    return _OPTION.sub(_say, _EXAMPLE.sub("", text))


def error_in_words(error: FlowveilError) -> tuple[str, str]:
    """Return the message and the hint of an error in the words of the page."""
    return in_words(error.message), in_words(error.hint)


def _say(match: re.Match[str]) -> str:
    option = match["name"] or match["letter"]
    if option in _VALUED and match["value"]:
        return _VALUED[option].format(match["value"])
    return match[0] if option is None else _WORDS.get(option, _ONLY_TYPED.format(f"“{option.replace('-', ' ')}”"))
