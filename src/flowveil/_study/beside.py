"""Our figures beside a paper's: one line for each, and what agrees in order and ratio."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from flowveil._study.cells import DONE, Value
from flowveil._study.table import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from flowveil._study.cells import Row
    from flowveil._study.presets import Section, Table

Key: TypeAlias = tuple[Value, ...]

_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda values: float(np.mean(values)),
    "median": lambda values: float(np.median(values)),
    "total": lambda values: float(np.sum(values)),
    "least": lambda values: float(np.min(values)),
}
_ALIKE = 0.005  # relative difference below which two figures have no order
FACT = "what"
_SHARE = "share of cases"
_HALF = 0.5
_SECONDS = "seconds"  # of other machines and languages


def lay_beside(table: Table, rows: Sequence[Row]) -> list[Row]:
    """Return one line for each row of a table and figure: ours, the paper's (or null), and of how many matrices."""
    own = own_rows(table, rows)
    lines = _figures(table, own)
    lines += [_value(fact, own) for fact in table.value]
    return lines + [_order(fact, own) for fact in table.order]


def own_rows(table: Table, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that a table shows."""
    own = [row for row in rows if row.get("status") == DONE and _fits(row, table.where)]
    return [row for row in own if not table.data or row.get("data") in table.data]


def _fits(row: Row, where: Mapping[str, Value | list[Value]]) -> bool:
    return all(
        row.get(name) in wanted if isinstance(wanted, list) else row.get(name) == wanted
        for name, wanted in where.items()
    )


def _figures(table: Table, own: Sequence[Row]) -> list[Row]:
    ours: dict[Key, list[Row]] = defaultdict(list)
    for row in own:
        ours[tuple(row.get(name) for name in table.rows)].append(row)
    theirs: dict[Key, list[Row]] = defaultdict(list)
    for row in table.paper_rows():
        theirs[tuple(_as_ours(row.get(name)) for name in table.rows)].append(row)
    lines: list[Row] = []
    for key in dict.fromkeys([*ours, *theirs]):
        for asked in table.figures:
            figure, _, statistic = asked.partition(":")
            values, paper = _numbers(ours[key], figure), _numbers(theirs[key], figure)
            line: Row = dict(zip(table.rows, key, strict=True)) | {"figure": figure}
            line["ours"] = _STATISTICS[statistic or "mean"](values) if values else None
            line["paper"] = float(np.mean(paper)) if paper else None
            if values or paper:
                lines.append(line | {"matrices": len(values)})
    return lines


def _as_ours(value: Value) -> Value:
    """Return a key of a paper as rows have it: a whole number is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _numbers(rows: Sequence[Row], figure: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row.get(figure), int | float)]


def _value(fact: Section, own: Sequence[Row]) -> Row:
    """Return one line for a number that the paper reports."""
    where = fact.get("where", {})
    some = [row for row in own if _fits(row, where)]
    values = _numbers(some, str(fact["figure"]))
    ours = _STATISTICS[str(fact.get("statistic", "mean"))](values) if values else None
    return {FACT: fact["says"], "figure": fact["figure"], "ours": ours, "paper": fact["paper"], "matrices": len(values)}


def _order(fact: Section, own: Sequence[Row]) -> Row:
    """Return one line for what a paper finds better: ours is the share of cases in which it is so here."""
    some = [row for row in own if _fits(row, fact.get("where", {}))]
    cases: dict[Key, dict[Value, float]] = defaultdict(dict)
    over = str(fact.get("over", "method"))
    for row in some:
        if isinstance(value := row.get(str(fact["figure"])), int | float):
            cases[tuple(row.get(name) for name in fact["by"])][row.get(over)] = float(value)
    held = [
        case[one] < case[two]
        for case in cases.values()
        for one, two in itertools.product(fact["first"], fact["then"])
        if one in case and two in case
    ]
    ours = float(np.mean(held)) if held else None
    return {FACT: fact["says"], "figure": _SHARE, "ours": ours, "paper": 1.0, "matrices": len(held)}


def agreement(table: Table, lines: Sequence[Row], reference: str | None) -> list[str]:
    """Return sentences on what agrees: for each figure, which pairs of methods have the same order here and there."""
    told = []
    for figure in _figure_names(table):
        groups = _by_group(table, lines, figure)
        same, other = _orders(groups)
        if same or other:
            sentence = f"`{figure}`: {same} of {same + len(other)} pairs are in the paper's order"
            shown_pairs = "; ".join(other[:4]) + (f" and {len(other) - 4} more" if len(other) > 4 else "")
            sentence += f"; not {shown_pairs}." if other else "."
            ratios = _ratios(groups, reference)
            if ratios and len(ratios) <= 8:
                sentence += f" Times {reference}, here (paper): {', '.join(ratios)}."
            told.append(sentence)
    return told


def count_orders(table: Table, lines: Sequence[Row]) -> tuple[int, int]:
    """Return how many pairs of methods have the paper's order, and how many there are, over all figures but seconds."""
    orders = [_orders(_by_group(table, lines, figure)) for figure in _figure_names(table) if figure != _SECONDS]
    same = sum(agreed for agreed, _ in orders)
    return same, same + sum(len(other) for _, other in orders)


def count_findings(lines: Sequence[Row]) -> tuple[int, int, int]:
    """Return how many findings of a paper hold in all cases, how many in most, and how many there are."""
    shares = [line["ours"] for line in lines if line.get(FACT) and line["figure"] == _SHARE]
    known = [float(share) for share in shares if share is not None]
    return sum(share == 1 for share in known), sum(_HALF < share < 1 for share in known), len(known)


def _figure_names(table: Table) -> list[str]:
    return [asked.partition(":")[0] for asked in table.figures]


def _orders(groups: Mapping[Key, dict[str, tuple[float, float]]]) -> tuple[int, list[str]]:
    """Return how many pairs of methods have the same order here and there, and which have another."""
    same, other = 0, []
    for group, methods in groups.items():
        for one, two in itertools.combinations(methods, 2):
            here, there = (_sign(methods[one][at], methods[two][at]) for at in (0, 1))
            if here and there:
                same += here == there
                if here != there:
                    other.append(f"{one} and {two}" + (f" ({', '.join(map(_text, group))})" if any(group) else ""))
    return same, other


def _ratios(groups: Mapping[Key, dict[str, tuple[float, float]]], reference: str | None) -> list[str]:
    """Return ratios to the reference, here and there; where rows are told apart by much else, there are too many."""
    ratios: list[str] = []
    for group, methods in groups.items():
        if reference in methods and len(group) <= 1:
            base = methods[reference]
            ratios += [
                f"{name} {values[0] / base[0]:.2g} ({values[1] / base[1]:.2g})"
                for name, values in methods.items()
                if name != reference and base[0] and base[1]
            ]
    return ratios


def _by_group(table: Table, lines: Sequence[Row], figure: str) -> dict[Key, dict[str, tuple[float, float]]]:
    """Return by all that tells rows apart but the method: for each method our figure and the paper's."""
    others = [name for name in table.rows if name != "method"]
    groups: dict[Key, dict[str, tuple[float, float]]] = defaultdict(dict)
    for line in lines:
        ours, paper = line.get("ours"), line.get("paper")
        if line.get("figure") == figure and "method" in line and None not in (ours, paper):
            groups[tuple(line.get(name) for name in others)][str(line["method"])] = (
                cast("float", ours),
                cast("float", paper),
            )
    return groups


def _text(value: Value) -> str:
    """Return a key as text: 6 for 6.0."""
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _sign(one: float, two: float) -> int:
    if abs(one - two) <= _ALIKE * max(abs(one), abs(two)):
        return 0
    return 1 if one > two else -1


def markdown_beside(table: Table, lines: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Return heading and rows of a table of ours beside the paper's."""
    names = _figure_names(table)
    has_paper = {line["figure"] for line in lines if line.get("paper") is not None and not line.get(FACT)}
    head = [
        *table.rows,
        *(text for name in names for text in ([name, f"{name}, paper"] if name in has_paper else [name])),
    ]
    by_key: dict[Key, dict[str, Row]] = defaultdict(dict)
    for line in lines:
        if not line.get(FACT):
            by_key[tuple(line.get(name) for name in table.rows)][str(line["figure"])] = line
    body = []
    for key, by_figure in by_key.items():
        cells = [_text(value) for value in key]
        for name in names:
            line = by_figure.get(name, {"figure": name})
            cells += [_told(line, "ours")] + ([_told(line, "paper")] if name in has_paper else [])
        body.append(cells)
    return head, body


def markdown_facts(lines: Sequence[Row]) -> list[list[str]]:
    """Return rows of what a paper says, with our number (or the share of cases in which it holds) beside its own."""
    told = []
    for line in lines:
        if line.get(FACT):
            share = line["figure"] == _SHARE
            here = line.get("ours")
            ours = (
                f"in {here:.0%} of {line.get('matrices'):g} cases"
                if share and here is not None
                else _told(line, "ours")
            )
            told.append([str(line[FACT]), ours, "found so" if share else _told(line, "paper")])
    return told


def _told(line: Row, column: str) -> str:
    value = line.get(column)
    if isinstance(value, float) and value >= 1e6:
        return f"{value:.1e}"
    return shown(str(line["figure"]), value)
