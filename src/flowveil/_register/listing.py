"""Looking at a register."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._options import parse_epsilon, parse_whole
from flowveil._register.account import protected, spent
from flowveil._register.entering import look
from flowveil._register.entries import NOISE

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import Column
    from flowveil._register.entries import Entry

_MOMENT = pa.timestamp("us")


@dataclass(frozen=True, eq=False, repr=False)
class Register:
    """The releases made from a source, as a private register knows them.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> folder = fv.anonymize(flows, k=5, register="releases.register").write("first")
    >>> fv.register("releases.register").releases["kind"].to_pylist()
    ['flows']
    """

    releases: pa.Table
    epsilon_budget: float | None  # for all releases with noise together
    epsilon_spent: float

    def __repr__(self) -> str:
        budget = "" if self.epsilon_budget is None else f" of {self.epsilon_budget:g}"
        return f"<Register: {self.releases.num_rows:,} releases, epsilon {self.epsilon_spent:g}{budget} spent>"


def register(path: str | Path, *, epsilon_budget: float | None = None, forget: int | None = None) -> Register:
    """Return what a register knows, after changing it if that was asked for.

    path: its file; made if there is none and a budget is given.
    epsilon_budget: the most that epsilons of all releases may add up to from now on.
    forget: the number of a release that was never published, to be left out.

    >>> fv.register("account.register", epsilon_budget=3)
    <Register: 0 releases, epsilon 0 of 3 spent>
    """
    budget = None if epsilon_budget is None else parse_epsilon(epsilon_budget)
    number = None if forget is None else parse_whole(forget, "forget, the number of a release,", "give --forget N")
    with look(path, create=budget is not None) as opened:
        if number is not None:
            opened.forget(number)
        if budget is not None:
            opened.budget = budget
        entries = opened.entries()
        return Register(_table(entries), opened.budget, float(spent(entries)))


def _table(entries: list[Entry]) -> pa.Table:
    columns: dict[str, Column] = {
        "release": pa.array([entry.number for entry in entries], pa.int64()),
        "folder": pa.array([entry.folder for entry in entries], pa.string()),
        "made": pa.array([entry.made for entry in entries], pa.string()),
        "state": pa.array([entry.state for entry in entries], pa.string()),
        "kind": pa.array([entry.kind for entry in entries], pa.string()),
        "promise": pa.array([_promise(entry) for entry in entries], pa.string()),
        "epsilon": pa.array([entry.epsilon for entry in entries], pa.float64()),
        "period": pa.array([entry.period for entry in entries], pa.string()),
        "first": pa.array([entry.first for entry in entries], pa.int64()).cast(_MOMENT),
        "last": pa.array([entry.last for entry in entries], pa.int64()).cast(_MOMENT),
        "rows": pa.array([entry.rows for entry in entries], pa.int64()),
    }
    return pa.table(columns)


def _promise(entry: Entry) -> str:
    promise = entry.promise
    if entry.kind == NOISE:
        return f"epsilon {entry.epsilon:g} for each {protected(promise)}"
    return f"k = {promise.get('k')}, {promise.get('unit')}"
