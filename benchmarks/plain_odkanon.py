"""ODkAnon as its authors step through it: one merge at a time on a sparse matrix. Plain, and slow on purpose."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowveil._flows import Flows


def solve(flows: Flows, k: int, levels: int = 3, filter_budget: float = 0.1, balance: float = 0.03):
    """Return the cells {(origin area, destination area): trips} after the last merge, and the number of steps.

    Persons are counted when the flows have them: every cell then carries the set of its persons.
    """
    persons = defaultdict(set)
    if flows.people is not None:
        for pair, person in zip(flows.people.pair.tolist(), flows.people.person.tolist(), strict=True):
            persons[pair].add(person)
    rows = list(zip(flows.origin.tolist(), flows.destination.tolist(), flows.trips.tolist(), strict=True))
    kept = _filter(flows, rows, persons, k, levels, filter_budget)
    matrix = defaultdict(dict), defaultdict(dict)  # by origin, by destination
    for row in kept:
        origin, destination, trips = rows[row]
        cell = (trips, frozenset(persons[row]))
        matrix[0][origin][destination] = cell
        matrix[1][destination][origin] = cell
    trees = [_tree(tree, matrix[axis]) for axis, tree in enumerate((flows.origins, flows.destinations))]
    first, turn, steps = len(matrix[0]) / len(matrix[1]), 0, 0
    by_person = flows.people is not None
    while any(_crowd(cell, by_person) < k for line in matrix[0].values() for cell in line.values()):
        ratio = len(matrix[0]) / len(matrix[1])
        forced = 0 if ratio > first * (1 + balance) else 1 if ratio < first * (1 - balance) else None
        axis = turn if forced is None else forced
        best = _best_group(trees[axis], matrix[axis])
        if best is None:
            axis = 1 - axis
            best = _best_group(trees[axis], matrix[axis])
        if best is None:
            return None, steps
        if forced is None:
            turn = 1 - axis
        _merge(matrix[axis], matrix[1 - axis], trees[axis][0][best], best)
        steps += 1
    return {(o, d): cell[0] for o, line in matrix[0].items() for d, cell in line.items()}, steps


def _crowd(cell, by_person):
    return len(cell[1]) if by_person else cell[0]


def _filter(flows, rows, persons, k, levels, filter_budget):
    good = set()
    for level in range(levels + 1):
        groups = defaultdict(list)
        for row, (origin, destination, _) in enumerate(rows):
            groups[_up(flows.origins, origin, level), _up(flows.destinations, destination, level)].append(row)
        for members in groups.values():
            if flows.people is not None:
                crowd = len(set().union(*(persons[row] for row in members)))
            else:
                crowd = sum(rows[row][2] for row in members)
            if crowd >= k:
                good.update(members)
    hopeless = sorted(set(range(len(rows))) - good, key=lambda row: (rows[row][2], row))
    dropped = set(hopeless[: int(len(rows) * filter_budget)])
    return [row for row in range(len(rows)) if row not in dropped]


def _up(tree, node, steps):
    for _ in range(steps):
        node = max(int(tree.parent[node]), 0)
    return node


def _tree(tree, lines):
    """Children that occur, trips below and key of every node above the tiles in use."""
    children, total = defaultdict(set), defaultdict(int)
    for leaf, line in lines.items():
        node, trips = leaf, sum(cell[0] for cell in line.values())
        total[node] += trips
        while node != 0:
            parent = int(tree.parent[node])
            children[parent].add(node)
            total[parent] += trips
            node = parent
    return dict(children), total, tree.key


def _best_group(tree, lines):
    children, total, key = tree
    groups = [
        (total[parent], int(key[parent]), parent)
        for parent, group in children.items()
        if all(node in lines for node in group)
    ]
    return min(groups)[2] if groups else None


def _merge(lines, other, group, parent):
    merged = {}
    for node in group:
        for end, cell in lines.pop(node).items():
            before = merged.get(end, (0, frozenset()))
            merged[end] = (before[0] + cell[0], before[1] | cell[1])
            del other[end][node]
    lines[parent] = merged
    for end, cell in merged.items():
        other[end][parent] = cell
