"""Flows inside each other, and how those that fail the requirement are mended.

Persons and weights do not add up: whether what finer flows leave is enough shows only when it is counted. A flow that
fails gives its trips to the flow around it, takes in a finer flow, or is withheld: what is cheapest. Crowds do not
shrink: a flow that takes trips in is still one if it was, and so is one that takes in a crowd. But one person may make
too many of the trips then; so a flow without finer ones may fail too. Each step leaves fewer flows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._flows import add_by_group

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._problem import Cube, Problem

NONE = -1


@dataclass(frozen=True, eq=False)
class Layers:
    """Flows of which some lie inside others: a trip is counted in the smallest that holds it."""

    cube: Cube
    cell: IntArray  # by flow, ascending
    above: IntArray  # by flow: the smallest flow that holds it, -1 for none
    group: IntArray  # by tile pair: the flow that counts it, -1 for none

    def trips(self, problem: Problem) -> IntArray:
        """Return what each flow counts."""
        return add_by_group(self.group, problem.flows.trips, len(self.cell))

    def fails(self, problem: Problem) -> BoolArray:
        """Return which flows fail the requirement."""
        requirement, measures = problem.requirement, problem.measure(self.group, len(self.cell))
        return ~(requirement.is_crowd(measures) & requirement.is_shared(measures))

    @property
    def rate(self) -> FloatArray:
        """By flow: what a trip in it costs."""
        return self.cube.loss[self.cell] / self.cube.trips[self.cell]

    def moved(self, target: IntArray) -> Layers:
        """Return the flows that are left when flows join others, or are withheld.

        target: by flow the one that counts its trips from now on: itself, one that stays, or -1.
        """
        count = len(self.cell)
        stays = target == np.arange(count)
        number = np.append(np.where(stays, np.cumsum(stays) - 1, NONE), NONE)  # the last entry is for none
        above = np.append(self.above, NONE)
        while not (fixed := stays[above] | (above == NONE)).all():  # stays[-1] does not matter
            above = np.where(fixed, above, above[above])
        return Layers(
            self.cube,
            self.cell[stays],
            number[above[:-1][stays]],
            number[np.append(target, NONE)[self.group]],
        )


class Price(NamedTuple):
    """What may be withheld, and at what price."""

    left: int  # trips
    lam: float  # of a trip


def mend(problem: Problem, layers: Layers, price: Price) -> Layers:
    """Return flows that all pass. More than may be is withheld only where one person makes too many of the trips."""
    while (fails := layers.fails(problem)).any():
        layers, withheld = _mend_finest(problem, layers, fails, price)
        price = price._replace(left=price.left - withheld)
    return layers


def _mend_finest(problem: Problem, layers: Layers, fails: BoolArray, price: Price) -> tuple[Layers, int]:
    """Mend the failing flows that hold no other; return what becomes of all flows, and the trips withheld."""
    trips, rate, above = layers.trips(problem), layers.rate, layers.above
    inside = _inside(above)
    target = np.arange(len(above))
    withheld = 0
    for flow in _finest(fails, above):
        finer = min(inside.get(flow, []), key=lambda other: trips[other] * (rate[flow] - rate[other]), default=NONE)
        cost = np.inf if finer == NONE else trips[finer] * (rate[flow] - rate[finer])
        fits = finer == NONE or withheld + trips[flow] <= price.left
        around = above[flow]
        if around != NONE and trips[flow] * (rate[around] - rate[flow]) <= cost:
            target[flow] = around
        elif around == NONE and trips[flow] * price.lam <= cost and fits:
            target[flow] = NONE
            withheld += int(trips[flow])
        else:
            target[finer] = flow
    return layers.moved(target), withheld


def _finest(fails: BoolArray, above: IntArray) -> list[int]:
    """Return the failing flows that hold no other failing flow."""
    holds = np.zeros(len(above) + 1, bool)  # the last entry is for none
    holder = above[fails]
    while (holder != NONE).any():
        holds[holder] = True
        holder = np.append(above, NONE)[holder]
    return np.flatnonzero(fails & ~holds[:-1]).tolist()


def _inside(above: IntArray) -> dict[int, list[int]]:
    """Return the flows directly inside each flow that has any."""
    inside: dict[int, list[int]] = {}
    for flow, holder in enumerate(above.tolist()):
        inside.setdefault(holder, []).append(flow)
    return inside
