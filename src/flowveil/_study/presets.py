"""Presets: what papers measured, as small files that say what to run on which data, and what the papers report."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from flowveil._errors import UnknownNameError
from flowveil._options import parse_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._study.cells import Row

Section = dict[str, Any]  # Any: of TOML, which holds values of every kind


@dataclass(frozen=True)
class Table:
    """One table or figure of a paper: which of our rows go beside which of its figures."""

    name: str
    title: str
    rows: list[str]  # the columns that tell its rows apart
    figures: list[str]  # columns, each with its statistic: `gbar`, `seconds:total`
    data: list[str]  # the inputs it needs; all if none is named
    where: Section = field(default_factory=dict)  # which of our rows
    paper: str = ""  # what the paper reports, as CSV with a heading
    value: list[Section] = field(default_factory=list)  # single numbers that it reports
    order: list[Section] = field(default_factory=list)  # what it finds to be better than what
    notes: list[str] = field(default_factory=list)
    chart: Section = field(default_factory=dict)

    def paper_rows(self) -> list[Row]:
        """Return what the paper reports."""
        return [
            {name: _number(text) for name, text in row.items() if text and name}
            for row in csv.DictReader(self.paper.strip().splitlines())
        ]


@dataclass(frozen=True)
class Preset:
    """A file of presets: one way to run, and the tables that come of it."""

    name: str
    title: str
    kind: str
    run: list[Section]
    data: dict[str, Section]
    tables: list[Table]
    reference: str | None
    says: str  # how far the results agree with the paper, in a sentence or two
    text: str  # the file itself

    def needed(self, wanted: Iterable[Table]) -> list[str]:
        """Return the inputs that some tables need."""
        names = {name for table in wanted for name in table.data or self.data}
        return [name for name in self.data if name in names]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


@cache
def read_presets() -> dict[str, Preset]:
    """Return all files of presets by name."""
    folder = resources.files("flowveil._study") / "presets"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".toml")), key=lambda item: item.name)
    return {preset.name: preset for preset in (_read(item.name[:-5], item.read_text("utf-8")) for item in files)}


def _read(name: str, text: str) -> Preset:
    content = tomllib.loads(text)
    tables = [Table(**{"rows": ["method"], "figures": [], "data": []} | table) for table in content["table"]]
    reference = content.get("reference")
    told = (content["title"], content["kind"], content["run"], content["data"])
    return Preset(name, *told, tables, reference, content["says"], text)


def find_preset(name: str) -> tuple[Preset, list[Table]]:
    """Return the preset of a table or figure, or of a whole file, and what is wanted of it."""
    presets = read_presets()
    if parse_text(name, "preset", "atg-table3") in presets:
        return presets[name], presets[name].tables
    for preset in presets.values():
        if wanted := [table for table in preset.tables if table.name == name]:
            return preset, wanted
    raise UnknownNameError("preset", name, preset_names())


def preset_names() -> list[str]:
    """Return the names of all tables and figures."""
    return [table.name for preset in read_presets().values() for table in preset.tables]
