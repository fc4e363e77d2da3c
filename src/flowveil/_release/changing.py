"""The flows of a release as they are published: with true numbers, rounded ones, or changed by cell keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import TIMES
from flowveil._release.cell_key import cell_keys, change_persons, look_up
from flowveil._release.rounding import round_table
from flowveil._release.tables import flows_table

if TYPE_CHECKING:
    from flowveil._flows import Flows, Measures
    from flowveil._problem import Solution
    from flowveil._release.demand import Demand
    from flowveil._release.elsewhere import Elsewhere
    from flowveil._release.totals import Totals

_KEY = "flowveil cell key"  # a column that no input has, and no release


def check_changeable(flows: Flows, solution: Solution, asked: Demand) -> None:
    """Raise if numbers are to be changed that are not true ones on areas of a tree."""
    name = "--rounding" if asked.rounding is not None else "--cell-key"
    changes = asked.rounding is not None or asked.cell_key is not None
    if changes and (not solution.exact or solution.rectangles is not None):
        raise InputError(f"{name[2:]} needs true volumes on areas of a tree", f"use mosaic, or leave out {name}")
    if changes and flows.weight is not None:  # a sum of equal weights is a number of trips times one of them
        raise InputError(f"weights would tell the true numbers that {name} hides", f"leave out --weight or {name}")


def published_table(
    flows: Flows, solution: Solution, asked: Demand, counts: tuple[Measures, Elsewhere | None, Totals | None]
) -> pa.Table:
    """Return all flows with numbers as they are published; counts: of flows, those to elsewhere, and totals."""
    measures, rest, whole = counts
    secret = asked.secret
    if secret is None or asked.cell_key is None:
        table = flows_table(flows, solution, measures, rest, whole)
        if secret is None or asked.rounding is None:
            return table
        by = flows.provenance.by
        times = [name for name in TIMES if name in table.column_names and name not in by]
        return round_table(table, asked.rounding, secret, (*times, *by), by)
    keys = [cell_keys(flows, solution.group, len(solution.origin), secret)]
    if rest is not None:
        keys.append(cell_keys(flows, rest.group, len(rest.area), secret))
    if whole is not None:
        keys.append(cell_keys(whole.flows, whole.solution.group, len(whole.solution.origin), secret))
    table = flows_table(flows, solution, measures, rest, whole, mark=(_KEY, pa.array(np.concatenate(keys))))
    return _changed(table, asked.cell_key, secret)


def _changed(table: pa.Table, most: int, secret: bytes) -> pa.Table:
    """Return flows whose numbers are changed by their keys."""
    key = np.asarray(table[_KEY].to_numpy(), np.uint64)
    table = table.drop_columns([_KEY])
    change = look_up(key, most, secret, "trips")
    changed = {"trips": table["trips"].to_numpy() + change}
    if "persons" in table.column_names:
        persons = table["persons"].to_numpy()
        more = np.minimum(table["trips"].to_numpy() - persons, most)
        changed["persons"] = persons + change_persons(change, more, key, most, secret)
    for name, values in changed.items():
        table = table.set_column(table.column_names.index(name), table.schema.field(name), pa.array(values, pa.int64()))
    return table
