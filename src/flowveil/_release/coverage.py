"""What of the input is in a release: rows, pairs of tiles, and trips by group and step of time. Private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Flows
    from flowveil._folder import Json

_FAR_MORE = 2, 0.1  # a group loses far more than all do: twice as much, and a tenth of its trips more
_HARDLY = 0.75  # totals with a smaller share of the trips deserve a warning


@dataclass(frozen=True, eq=False)
class Coverage:
    """How much of the input a release holds."""

    rows: int  # that were read
    unusable: int  # of these, dropped
    outside_bbox: int
    pairs: int  # of tiles, in all groups and steps
    pairs_left_out: int  # of these, in no flow
    trips: int
    left_out: int
    parts: dict[str, dict[str, float]]  # by column of groups or time: by value the share of trips left out
    totals: float | None = None  # the share of the trips in totals

    def figures(self) -> dict[str, Json]:
        """Return what the audit file keeps."""
        return {
            "unusable_rows": self.unusable / max(self.rows, 1),
            "pairs": self.pairs,
            "pairs_left_out": self.pairs_left_out,
            "left_out_by": self.parts,
            **({} if self.totals is None else {"totals": self.totals}),
        }

    def told(self) -> list[str]:
        """Return what every user should see, one sentence each."""
        shares = [f"{name} {min(by.values()):.1%} to {max(by.values()):.1%}" for name, by in self.parts.items() if by]
        kept = f"{self.pairs - self.pairs_left_out:,} of {self.pairs:,} pairs of tiles are in a flow"
        usable = f"; {1 - self.unusable / self.rows:.1%} of the rows are usable" if self.unusable else ""
        return [kept + usable, *([f"left out by {'; by '.join(shares)}"] if shares else [])]

    def doubts(self) -> tuple[str, ...]:
        """Return what may mislead readers, one sentence each: groups that lose far more than others, thin totals."""
        every = self.left_out / max(self.trips, 1)
        times, more = _FAR_MORE
        said = []
        for name, shares in self.parts.items():
            far = {value: share for value, share in shares.items() if share > max(times * every, every + more)}
            if far:
                worst = max(far, key=lambda value: (far[value], value))
                said.append(
                    f"{len(far):,} of {len(shares):,} values of {name} lose far more than the {every:.0%} left out "
                    f"of all, {worst!r} most ({far[worst]:.0%}): do not compare them as if they were complete"
                )
        if self.totals is not None and self.totals < _HARDLY:
            said.append(
                f"the totals hold {self.totals:.0%} of the trips: the others would give groups away; if all groups "
                "together matter more, publish them by themselves, without --by"
            )
        return tuple(said)


def measure_coverage(flows: Flows, group: IntArray, totals: int | None = None) -> Coverage:
    """Return what a release holds, given by pair of tiles its flow, -1 for none; totals: their trips, if there are."""
    story, missing = flows.provenance, group < 0
    return Coverage(
        rows=story.rows,
        unusable=sum(story.dropped.values()),
        outside_bbox=story.outside_bbox,
        pairs=len(flows),
        pairs_left_out=int(missing.sum()),
        trips=flows.total,
        left_out=int(flows.trips[missing].sum()),
        parts={name: _shares(flows, missing, name) for name in flows.matrices.column_names},
        totals=None if totals is None else totals / max(flows.total, 1),
    )


def _shares(flows: Flows, missing: BoolArray, name: str) -> dict[str, float]:
    """Return by value of a column of the matrices the share of its trips that are left out."""
    values = [str(value) for value in flows.matrices[name].to_pylist()]
    order = {value: number for number, value in enumerate(dict.fromkeys(values))}
    position = np.array([order[value] for value in values], np.int64)[flows.matrix]
    every = np.bincount(position, flows.trips, len(order))
    lost = np.bincount(position, np.where(missing, flows.trips, 0), len(order))
    return dict(zip(order, (lost / np.maximum(every, 1)).tolist(), strict=True))
