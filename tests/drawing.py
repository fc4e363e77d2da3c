"""What a page draws from, read back with code of its own: see _report/packing.py for how it is written."""

from __future__ import annotations

import json
import re

_CHARACTERS = [chr(code) for code in range(33, 127) if chr(code) not in '"&<>\\']
_VALUE = {character: value for value, character in enumerate(_CHARACTERS)}


def block(page, name):
    """Return a JSON block of a page."""
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def numbers(text):
    """Return the whole numbers of a text."""
    found, value, unit = [], 0, 1
    for character in text:
        digit = _VALUE[character]
        value += digit % 32 * unit
        unit *= 32
        if digit < 32:
            found.append(-(value // 2) - 1 if value % 2 else value // 2)
            value, unit = 0, 1
    return found


def running(text):
    """Return the whole numbers of a text of steps."""
    found, last = [], 0
    for step in numbers(text):
        last += step
        found.append(last)
    return found


def rows(page):
    """Return the listed movements of a page: names of both ends, values of keys, amounts."""
    scene = block(page, "drawing")["scene"]
    names = scene["areas"]["id"]
    origin, destination, matrix = running(scene["origin"]), numbers(scene["destination"]), running(scene["matrix"])
    amounts = {name: numbers(text) for name, text in scene["amounts"].items()}
    positions = [numbers(text) for text in scene["matrices"]["positions"]]
    listed = []
    for row, (start, end, part) in enumerate(zip(origin, destination, matrix, strict=True)):
        keys = {key["name"]: key["values"][place[part]] for key, place in zip(scene["keys"], positions, strict=True)}
        ends = {"origin": names[start], "destination": None if end < 0 else names[end]}
        listed.append(ends | keys | {name: values[row] for name, values in amounts.items()})
    return listed
