"""Amounts of memory: what a user allows, and whether arrays will fit into it.

What is estimated is the peak of a process beyond what Python and libraries take before any trip is read. Bytes were
fitted to peaks that were measured on synthetic cities (docs/scale.md): most are right to within a tenth.
"""

from __future__ import annotations

import re

from flowveil._errors import InputError
from flowveil._options.values import parse_whole, shown

_SLACK = 1.25  # an estimate must be so much above what is allowed to be refused: what fits is not turned away
REST = 20e6  # bytes that do not grow with trips: trees, tables, what is freed but not given back
_GIGABYTE = 1e9
_MEGABYTE = 1e6
FLOW_VISIT = 20  # bytes of flows for each person on a pair of tiles: the pair, the person, how many trips
FLOW_COLUMN = 8  # and for each column of a pair: ends, trips, and weight, matrix and time where there are


def parse_memory(value: object, option: str = "--memory") -> int:
    """Return bytes, of text like 2GB or 512MiB, or of a number of bytes; option: where they were written."""
    hint = f"write it like {option} 2GB"
    if not isinstance(value, str):
        return parse_whole(value, option.strip("-").replace("-", "_"), hint, 1)
    written = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([KMGT])(i?)B\s*", value)
    if written is None:
        raise InputError(f"{shown(value)} is not an amount of memory", hint)
    return int(float(written[1]) * (1024 if written[3] else 1000) ** (1 + "KMGT".index(written[2])))


def check_memory(allowed: int | None, needed: float, what: str, hint: str) -> None:
    """Raise if so many bytes are needed that they cannot be what is allowed; None allows any."""
    if allowed is not None and needed + REST > _SLACK * allowed:
        amounts = f"{_shown(needed + REST)} of memory, and {_shown(allowed)} are allowed"
        raise InputError(f"{what} need about {amounts}", hint)


def _shown(amount: float) -> str:
    return f"{amount / _GIGABYTE:.1f} GB" if amount >= _GIGABYTE else f"{amount / _MEGABYTE:.0f} MB"
