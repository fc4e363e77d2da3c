"""The flows of a release as layers, of which none counts a trip twice: by trip its flow, and what each flow is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from flowveil._folder import ELSEWHERE, TOTAL
from flowveil._register import Layer
from flowveil._release.keys import NONE

if TYPE_CHECKING:
    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._problem import Solution
    from flowveil._release.elsewhere import Elsewhere
    from flowveil._release.totals import Totals


def layers_of(
    flows: Flows, solution: Solution, rest: Elsewhere | None, whole: Totals | None, pair: IntArray
) -> tuple[Layer, ...]:
    """Return the layers of a release; pair: by trip its pair of tiles."""
    names = _names(flows, solution, _rows(flows.matrices, solution.matrix))
    group = solution.group
    if rest is not None:
        ids = solution.sides(flows)[rest.first].ids(rest.area)
        ends = [(area, ELSEWHERE) if rest.first == 0 else (ELSEWHERE, area) for area in ids]
        group = np.where(group < 0, np.where(rest.group < 0, NONE, rest.group + len(names)), group)
        names += [json.dumps([*end, row]) for end, row in zip(ends, _rows(flows.matrices, rest.matrix), strict=True)]
    layers = [Layer(group[pair], names)]
    if whole is not None:
        total = dict.fromkeys(flows.provenance.by, TOTAL)
        rows = [row | total for row in _rows(whole.flows.matrices, whole.solution.matrix)]
        layers.append(Layer(whole.of_pair[pair], _names(whole.flows, whole.solution, rows)))
    return tuple(layers)


def _names(flows: Flows, solution: Solution, rows: list[dict[str, str]]) -> list[str]:
    """Return what flows are, as text: areas, then time and groups."""
    origins, destinations = solution.sides(flows)
    if solution.time is not None and flows.times is not None:
        spans = [bound.to_pylist() for bound in flows.times.values(solution.time)]
        rows = [row | {"time": str(first), "time_end": str(end)} for row, first, end in zip(rows, *spans, strict=True)]
    ends = zip(origins.ids(solution.origin), destinations.ids(solution.destination), rows, strict=True)
    return [json.dumps(list(names)) for names in ends]


def _rows(matrices: pa.Table, number: IntArray) -> list[dict[str, str]]:
    """Return the times and groups of matrices, by number."""
    rows = [{name: str(value) for name, value in row.items()} for row in matrices.to_pylist()]
    return [rows[place] if rows else {} for place in number.tolist()]
