"""Controlled rounding: numbers and their sums are rounded at once, each up or down, and nothing is too high on average.

Cox (JASA 82, 1987). A table with its sums is a network: from a source for all, through a node for each first area,
along one arc a number, to a node for each second area, to a sink and back. What flows into a node flows out of it, so a
node that has an arc with a fraction has another one, and arcs with fractions contain a cycle. Something is pushed
around it, forward or backward by chance such that no number changes on average, until an arc of it is whole, for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flowveil._arrays import BoolArray, IntArray, KeyArray


def round_controlled(values: IntArray, base: int, keys: Sequence[IntArray], words: KeyArray) -> BoolArray:
    """Return which numbers are rounded up to the next multiple of a base; multiples are not.

    Numbers and all sums of them end as one of the two multiples around them, and on average as they are.
    keys: by number its layer, its part of the layer, and its row and column of the part: sums of these are rounded too.
    words: chance, one whole number below 2**64 for each number and sum.
    """
    network = _Network(values, base, keys)
    chance = iter(words.tolist())
    for cycle in network.cycles():
        forward = [arc for arc, along in cycle if along]
        backward = [arc for arc, along in cycle if not along]
        rise = min([base - network.part[arc] for arc in forward] + [network.part[arc] for arc in backward])
        fall = min([network.part[arc] for arc in forward] + [base - network.part[arc] for arc in backward])
        push = rise if next(chance) % (rise + fall) < fall else -fall
        for arc in forward:
            network.part[arc] += push
        for arc in backward:
            network.part[arc] -= push
    up: BoolArray = np.array(network.part[: len(values)], np.int64) == base
    return up


def most_arcs(keys: Sequence[IntArray]) -> int:
    """Return how many numbers and sums there are: no more words are needed."""
    layer, part, row, column = keys
    ends = _number(layer, part, row), _number(layer, part, column)
    count = len(layer) + 2 * len(np.unique(_number(layer, part))) + len(np.unique(layer))
    return count + sum(len(np.unique(end)) for end in ends)


def _number(*columns: IntArray) -> IntArray:
    """Return a number for each combination of values."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, number = np.unique(np.column_stack([number, column]), axis=0, return_inverse=True)
        number = number.ravel()
    return number


class _Network:
    """Arcs from tail to head; `part` is what each has above a multiple of the base. Those of numbers come first."""

    def __init__(self, values: IntArray, base: int, keys: Sequence[IntArray]) -> None:
        layer, part, row, column = keys
        levels = [_number(layer), _number(layer, part), _number(layer, part, row), _number(layer, part, column)]
        sizes = [int(level.max(initial=-1)) + 1 for level in levels]
        # Nodes: rows, columns, sources and sinks of parts, sources and sinks of layers.
        starts = np.cumsum([0, sizes[2], sizes[3], sizes[1], sizes[1], sizes[0], sizes[0]])
        rows, columns, sources, sinks, tops, ends = (starts[number] for number in range(6))
        tails, heads, parts = [levels[2] + rows], [levels[3] + columns], [values % base]

        def add(level: IntArray, size: int, tail: IntArray, head: IntArray) -> None:
            """Add the arcs of one kind of sums."""
            sums, first = np.zeros(size, np.int64), np.zeros(size, np.int64)
            np.add.at(sums, level, values % base)
            first[level] = np.arange(len(level))
            tails.append(tail[first])
            heads.append(head[first])
            parts.append(sums % base)

        add(levels[2], sizes[2], levels[1] + sources, levels[2] + rows)
        add(levels[3], sizes[3], levels[3] + columns, levels[1] + sinks)
        add(levels[1], sizes[1], levels[0] + tops, levels[1] + sources)
        add(levels[1], sizes[1], levels[1] + sinks, levels[0] + ends)
        add(levels[0], sizes[0], levels[0] + ends, levels[0] + tops)
        self.base = base
        self.part: list[int] = np.concatenate(parts).tolist()
        self._tail: list[int] = np.concatenate(tails).tolist()
        self._head: list[int] = np.concatenate(heads).tolist()
        self._arcs: list[list[int]] = [[] for _ in range(int(starts[-1]))]
        for arc in reversed(range(len(self.part))):  # sums come last, and first off the lists: they make short cycles
            if self.part[arc]:
                self._arcs[self._tail[arc]].append(arc)
                self._arcs[self._head[arc]].append(arc)
        for arcs in self._arcs:
            arcs.reverse()

    def cycles(self) -> Iterator[list[tuple[int, bool]]]:
        """Yield cycles of arcs with fractions, each arc with whether it is walked along; some arc must become whole."""
        for start in range(len(self._arcs)):
            path: list[tuple[int, bool]] = []
            nodes = [start]
            place = {start: 0}
            while (arc := self._next(nodes[-1], path[-1][0] if path else -1)) is not None:
                along = self._tail[arc] == nodes[-1]
                node = self._head[arc] if along else self._tail[arc]
                path.append((arc, along))
                if node not in place:
                    place[node] = len(nodes)
                    nodes.append(node)
                    continue
                begin = place[node]
                yield path[begin:]
                for left in nodes[begin + 1 :]:
                    del place[left]
                del path[begin:], nodes[begin + 1 :]

    def _next(self, node: int, last: int) -> int | None:
        """Return an arc with a fraction at a node, not the one it was reached by; None if there is none."""
        arcs = self._arcs[node]
        whole = (0, self.base)
        while arcs and self.part[arcs[-1]] in whole:
            arcs.pop()
        if arcs and arcs[-1] != last:
            return arcs[-1]
        for number in range(len(arcs) - 2, -1, -1):
            if self.part[arcs[number]] in whole:
                del arcs[number]
            else:
                return arcs[number]
        return None
