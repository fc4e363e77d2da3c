"""Tables of docs/reproduced.md: made of docs/results, which hold what presets of studies measured.

python docs/make_results.py            writes the page from the committed results
python docs/make_results.py FOLDER...  first takes results over from folders of `flowveil study --preset`
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq

from flowveil._study.beside import count_findings, count_orders, lay_beside
from flowveil._study.presets import read_presets
from flowveil._study.reproducing import chart, document
from flowveil._study.results import markdown_table

if TYPE_CHECKING:
    from flowveil._study.cells import Row
    from flowveil._study.presets import Preset

DOCS = Path(__file__).parent
RESULTS, PAGE, PICTURES = DOCS / "results", DOCS / "reproduced.md", DOCS / "pictures"
PAPERS = {
    "atg": "ATG",
    "knapsack": "Quadtree",
    "thesis": "ODkAnon",
    "daf": "DAF",
    "glove": "GLOVE",
}  # by name of preset
LONGEST = 14  # lines of a table that are shown without being asked for
WORDS = ("called", "like")  # of inputs, which say nothing about how they are made
HEAD = """# Papers, measured again

flowveil runs the methods of five papers. Does it find what they found? Every table here is made by `make docs` of the
files in `docs/results`, which come of `flowveil study --preset NAME --data FOLDER`: [study](study.md) says how. **Our
data are not the papers' data**: theirs cannot be had. So values need not agree. What is compared is which method is
better than which (*order*), by how much (*ratio*), and what the papers say in words (*findings*); where these differ,
notes say what we know of why.

## In short

{short}
"""
READ = """
*Same order*: of all pairs of methods that a paper's table compares, so many are in the paper's order here. Seconds are
left out: they are of another machine and language.
*Findings*: sentences of the paper on what is better than what. So many hold in all of our cases, and so many more in
most of them.

Figures below are means over matrices, unless a table says otherwise. Seconds were measured in one process, on a machine
that other programs used too: compare them within a table, and roughly.
"""


class Results(NamedTuple):
    """What a preset measured: what it was run on, and a line for each row and figure of its tables."""

    preset: Preset
    about: dict[str, Any]  # Any: of JSON
    lines: list[Row]

    def of(self, table: str) -> list[Row]:
        """Return the lines of a table."""
        return [line for line in self.lines if line["table"] == table]


def collect(folder: Path) -> None:
    """Take the results of a preset over: one line for each row and figure of its tables, and what it was run on."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    if about.pop("small"):
        sys.exit(f"{folder} is of the small size")
    preset = read_presets()[about["preset"]]
    rows = pq.read_table(folder / "study.parquet").to_pylist()
    about["without a result"] = without_result(rows)
    about["measured as"] = measured_as(preset)
    lines = [{"table": table.name} | line for table in preset.tables for line in lay_beside(table, rows)]
    names = list(dict.fromkeys(name for line in lines for name in line))
    with (RESULTS / f"{preset.name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in line.items()} for line in lines)
    (RESULTS / f"{preset.name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    for table in preset.tables:
        if table.chart:
            picture = chart(table, rows, preset.reference)
            (PICTURES / f"study-{table.name}.svg").write_text(picture, encoding="utf-8")


def without_result(rows: list[dict[str, object]]) -> list[str]:
    """Return which methods have no result on how many matrices, and why."""
    told: dict[str, int] = {}
    for row in rows:
        if row["status"] != "done":
            text = f"{row['method']} on {row['data']}: {row['status']}, {row.get('note')}"
            told[text] = told.get(text, 0) + 1
    return [f"{text} ({count} times)" if count > 1 else text for text, count in told.items()]


def measured_as(preset: Preset) -> str:
    """Return a hash of all of a preset that decides what is measured: if it changes, results are of another study."""
    asked = [preset.kind, _plain(preset.run), _plain(preset.data)]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _plain(value: object) -> object:
    """Return a value of a preset without its words and without its small size."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _plain(part)
        for name, part in value.items()
        if name != "small" and not (name in WORDS and isinstance(part, str))
    }


def _short(value: object) -> object:
    return float(f"{value:.5g}") if isinstance(value, float) else value


def read_results() -> list[Results]:
    """Return the committed results, by paper."""
    found = []
    for name, preset in read_presets().items():
        about = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as opened:
            lines = [{key: _value(text) for key, text in row.items() if text} for row in csv.DictReader(opened)]
        found.append(Results(preset, about, lines))
    return sorted(found, key=lambda each: _place(each.preset))


def _place(preset: Preset) -> tuple[int, list[int]]:
    """Return where a preset comes among all: by paper, and by the number of its first table."""
    return list(PAPERS).index(_paper(preset)), [int(number) for number in re.findall(r"\d+", preset.tables[0].name)]


def _paper(preset: Preset) -> str:
    return preset.name.partition("-")[0]


def page() -> str:
    """Return the page of all results."""
    everything = read_results()
    parts = [HEAD.format(short=summary(everything)) + READ]
    for results in everything:
        preset, about = results.preset, results.about
        told = (
            f"Run on {about['date']} with flowveil {about['flowveil']}, Python {about['python']}, "
            f"NumPy {about['numpy']} and Numba {about['numba']} on {about['cores']} cores and {about['memory_gb']} GB."
        )
        parts.append(f"## {preset.title}\n\n{preset.says}\n\n{told}\n")
        if about["without a result"]:
            parts.append("Without a result: " + "; ".join(about["without a result"]) + ".\n")
        for table in preset.tables:
            picture = f"![{table.name}](pictures/study-{table.name}.svg)\n" if table.chart else ""
            parts.append(_folded(document(preset, table, results.of(table.name), about["data"])))
            parts += [picture] if picture else []
    return "\n".join(parts)


def summary(everything: list[Results]) -> str:
    """Return for each preset how far it agrees with the paper: in words, and as a table of what can be counted."""
    rows, told = [], []
    orders, findings = (0, 0), (0, 0, 0)
    for results in everything:
        preset = results.preset
        same = [count_orders(table, results.of(table.name)) for table in preset.tables]
        held = [count_findings(results.of(table.name)) for table in preset.tables]
        pairs, said = (tuple(map(sum, zip(*each, strict=True))) for each in (same, held))
        orders = tuple(map(sum, zip(orders, pairs, strict=True)))
        findings = tuple(map(sum, zip(findings, said, strict=True)))
        told.append(f"- **{PAPERS[_paper(preset)]}**, {_links(preset)}: {preset.says}\n")
        if pairs[1] or said[2]:
            rows.append([PAPERS[_paper(preset)], _links(preset), _orders(pairs), _findings(said)])
    rows.append(["**all**", "", _orders(orders), _findings(findings)])
    return "".join(told) + "\n" + markdown_table(["paper", "tables and figures", "same order", "findings"], rows, 4)


def _links(preset: Preset) -> str:
    names = [table.name.partition("-")[2] for table in preset.tables]
    return ", ".join(f"[{name}](#{_anchor(table.name)})" for name, table in zip(names, preset.tables, strict=True))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower())


def _orders(counted: tuple[int, ...]) -> str:
    same, pairs = counted
    return f"{same} of {pairs}" if pairs else ""


def _findings(counted: tuple[int, ...]) -> str:
    always, mostly, said = counted
    return f"{always} of {said} always, {mostly} mostly" if said else ""


def _folded(text: str) -> str:
    """Return a document in which long tables open when they are asked for."""

    def fold(found: re.Match[str]) -> str:
        lines = found[0].splitlines()
        if len(lines) <= LONGEST:
            return found[0]
        return f"<details markdown><summary>{len(lines) - 2} lines of figures</summary>\n\n{found[0]}\n</details>\n"

    return re.sub(r"(?:^\|.*\n)+", fold, text, flags=re.MULTILINE)


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    RESULTS.mkdir(exist_ok=True)
    for argument in sys.argv[1:]:
        collect(Path(argument))
    PAGE.write_text(page(), encoding="utf-8")
