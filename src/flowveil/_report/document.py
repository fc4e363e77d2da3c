"""One HTML document out of the parts: text, numbers, style and program, with nothing to load from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from enum import Enum
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from flowveil._folder import NO_COLUMN, TRIP
from flowveil._report.reading import choosing, reading
from flowveil._report.words import protected_span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json

_SIGNIFICANT = 4

# Colors that people with any kind of color vision can tell apart. Amounts are colored with viridis (van der Walt and
# Smith, CC0), which also keeps its order in gray: on a light ground more is darker, on a dark ground more is lighter.
# Single marks are from Okabe and Ito's set of eight.
_PALETTE: dict[str, Json] = {
    "amounts": ["#fde725", "#b5de2b", "#6ece58", "#35b779", "#1f9e89", "#26828e", "#31688e", "#3e4989", "#482878"],
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "orange": "#e69f00",
    "green": "#009e73",
    "pink": "#cc79a7",
    "sky": "#56b4e9",
}


class Look(Enum):
    """What a page is for."""

    WHOLE = "whole"  # a report of its own
    INLINE = "inline"  # the map only, inside a notebook
    PRIVATE = "private"  # with what must not be published


def page(
    numbers: Mapping[str, Json],
    scene: Mapping[str, Json],
    words: Mapping[str, str],
    look: Look = Look.WHOLE,
    private: Mapping[str, Json] | None = None,
) -> str:
    """Return a page. Every text is escaped, and the page may run and load nothing but what is in it."""
    program = _asset("report.js")
    style = _asset("style.css")
    drawing = {"scene": scene, "words": dict(words), "look": look.value, "palette": _PALETTE}
    fields = {
        "policy": "default-src 'none'; script-src {}; style-src {}".format(*allowed_sources()),
        "generator": escape(numbers["software"]),
        "title": escape(f"{words['title']} · flowveil"),
        "heading": escape(words["title"]),
        "about": _about(numbers["description"]),
        "findings": _list(numbers["findings"]),
        "look": look.value,
        "style": style,
        "lead": _lead(numbers, words),
        "tiles": _tiles(numbers, words),
        "reading": _list(reading(numbers, words, scene)),
        "choosing": escape(choosing(words, scene)),
        "input": "samples" if words["counted"] in {"users", "moves"} else "trips",
        "promise": _list(_sentences(numbers["promise_text"])),
        "limits": _list(numbers["not_protected"]),
        "absence": escape(numbers["absence"]),
        "figures": _table(numbers),
        "command": escape(numbers["command"]),
        "method": escape(str(numbers["method"])),
        "made_by": escape(numbers["release_software"]),
        "drawn_from": _sources(numbers, private=private is not None),
        "drawn_by": escape(numbers["software"]),
        "credits": escape(" ".join(numbers["credits"])),
        "numbers": _json(numbers),
        "drawing": _json(drawing if private is None else drawing | {"private": private}),
        "program": program,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], _asset("page.html"))


def allowed_sources() -> tuple[str, str]:
    """Return by which words a content security policy allows the program and the style of every page, and no other."""
    return _fingerprint(_asset("report.js")), _fingerprint(_asset("style.css"))


@cache
def _asset(name: str) -> str:
    return files("flowveil._report").joinpath("assets", name).read_text(encoding="utf-8")


def _fingerprint(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(value: Mapping[str, Json]) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def show(value: float | None) -> str:
    """Return a number as people write it."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.{_SIGNIFICANT}g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _about(description: Mapping[str, str]) -> str:
    """Return when, who, and under which license, as far as the release says so."""
    names = {"period": "Period", "publisher": "Published by", "license": "License", "contact": "Contact"}
    return "".join(
        f"<div><dt>{text}</dt><dd>{escape(description[name])}</dd></div>"
        for name, text in names.items()
        if description.get(name)
    )


def _sources(numbers: Mapping[str, Json], *, private: bool) -> str:
    """Return what a page is drawn from."""
    if private:
        return "the release and the true trips"
    return "the files of the release " + ("and a context file of the publisher" if numbers["context"] else "alone")


def _lead(numbers: Mapping[str, Json], words: Mapping[str, str]) -> str:
    promise, figures = numbers["promise"], numbers["figures"]
    paths = words["counted"] == "users"
    counted = words.get("persons", "users") if paths else words["counted"]
    amount = f"<b>{show(figures[words['counted']])}</b> {escape(counted)}"
    if "cut_into" in promise:
        amount += f", counted once for each {promise['cut_into']} of theirs"
    if "known_points" in promise:
        crowd, points = words.get("crowd", "users"), promise["known_points"]
        return (
            f"{amount}. Any {'point' if points == 1 else f'<b>{points}</b> points'} that somebody knows fit at least "
            f"<b>{promise['k']}</b> {escape(crowd)}, or none; more points may fit one alone.{_blur(figures)}"
        )
    if words["counted"] == "moves":
        return (
            f"{amount} of synthetic users, drawn from counts with noise that hides any one "
            f"{escape(words.get('one', 'user'))}: epsilon = <b>{promise['epsilon']:g}</b>.{_blur(figures)}"
        )
    if promise["kind"] != "k-anonymity":
        who = "trip" if promise["unit"] == "trip" else words.get("one", "person")
        span = protected_span(promise)
        who += "" if span is None else f"\N{RIGHT SINGLE QUOTATION MARK}s trips {span}"
        error = f" \N{PLUS-MINUS SIGN} {show(round(figures['error']))}" if "error" in figures else ""
        return (
            f"{amount}{error}, counted with noise that hides any one {who}: epsilon = <b>{promise['epsilon']:g}</b>."
            f"{_blur(figures)}"
        )
    if promise["unit"] in NO_COLUMN:
        counted = "trips" if promise["unit"] == TRIP else "persons"
        return f"{amount}. Every flow counts at least <b>{promise['k']}</b> {counted}.{_blur(figures)}"
    each = "trajectory" if paths else "flow"
    crowd = words.get("crowd", "users" if paths else f"different values of {promise['unit']}")
    return f"{amount}. Every {each} is shared by at least <b>{promise['k']}</b> {escape(crowd)}.{_blur(figures)}"


def _blur(figures: Mapping[str, Json]) -> str:
    meters = figures.get("blur_meters")
    return "" if meters is None else f" Places are blurred by about <b>{show(_round(meters))}</b> m."


def _round(meters: float) -> int:
    """Return a length with two digits: it is a mean."""
    return int(float(f"{meters:.2g}"))


def _tiles(numbers: Mapping[str, Json], words: Mapping[str, str]) -> str:
    """Return the most telling figures as large numbers."""
    wanted = ["trips", "users", "groups", "flows", "boxes", "origin_areas", "destination_areas"]
    wanted += ["smallest_persons", "smallest_group", "epsilon", "blur_meters"]
    labels = {
        "origin_areas": "origin areas",
        "destination_areas": "destination areas",
        "smallest_persons": "in the smallest crowd",
        "users": words.get("persons", "users"),
        "smallest_group": f"{words.get('persons', 'users')} in the smallest group",
        "blur_meters": "m from the middle of a place, mean",
    }
    return "".join(
        f"<div><dd>{_large(name, numbers['figures'][name])}</dd><dt>{escape(labels.get(name, name))}</dt></div>"
        for name in wanted
        if name in numbers["figures"]
    )


def _large(name: str, value: float | None) -> str:
    return show(_round(value)) if name == "blur_meters" and value is not None else show(value)


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=\.) (?=[A-Z])", text)


def _list(sentences: list[str]) -> str:
    return "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)


def _table(numbers: Mapping[str, Json]) -> str:
    return "".join(
        f'<tr><th scope="row">{escape(numbers["meanings"][name])}</th>'
        f'<td data-figure="{escape(name)}">{show(value)}</td></tr>'
        for name, value in numbers["figures"].items()
    )
