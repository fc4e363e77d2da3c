"""Compiled loops over fronts: what cuts near the best one can reach.

A front is a list of points (trips withheld, cost), each as difference to the best choice, none worse in both trips and
loss than another. What a cut costs more than the best one adds up over its choices, so that points beyond a gap go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import Whole, compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.open_cells import Open

    ChoiceArray = npt.NDArray[np.int8]

_WHOLE = -1  # in place of the first of two points: to publish the cell; -2 for its first split, and so on


class Front(NamedTuple):
    """Points of fronts, each ascending in trips withheld and descending in loss."""

    withheld: IntArray
    cost: FloatArray
    one: IntArray  # the two points that this one adds up, or a choice
    other: IntArray  # with a choice: the cell


class Part(NamedTuple):
    """Points `start` to `stop` - 1, and one of the same points that is added to each, -1 for none."""

    points: Front
    start: int
    stop: int
    added: int


class Terms(NamedTuple):
    """What holds for all points."""

    price: float  # of a withheld trip
    rounding: float  # a difference of costs that is none
    most_work: int  # points that may be looked at
    most_points: int  # that may be kept


def _empty_front(size: int) -> Front:
    """Return room for points."""
    return Front(np.empty(size, np.int64), np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64))


empty_front = compiled(_empty_front)


def _with_room(front: Front, used: int, more: int) -> Front:
    """Return a front with room for more points behind those in use: itself, or a larger copy."""
    if used + more <= len(front.cost):
        return front
    larger = empty_front(2 * (used + more))
    for point in range(used):
        larger.withheld[point], larger.cost[point] = front.withheld[point], front.cost[point]
        larger.one[point], larger.other[point] = front.one[point], front.other[point]
    return larger


with_room = compiled(_with_room)


def _merge(first: Front, count: int, second: Part, room: float, terms: Terms) -> tuple[Front, int]:
    """Return the best of the first points of a front and of some others, and how many these are.

    Of equals it is that of the front. What costs `room` or more goes.
    """
    points, there, stop, added = second
    withheld = points.withheld[added] if added >= 0 else 0
    cost = points.cost[added] if added >= 0 else 0.0
    best = empty_front(count + stop - there)
    here, used = 0, 0
    least = np.inf
    while here < count or there < stop:
        later = there == stop
        if here < count and not later:
            apart = first.withheld[here] - points.withheld[there] - withheld
            later = apart < 0 or (apart == 0 and first.cost[here] <= points.cost[there] + cost + terms.rounding)
        if later:
            trips, value, one, other = first.withheld[here], first.cost[here], first.one[here], first.other[here]
            here += 1
        else:
            trips, value = points.withheld[there] + withheld, points.cost[there] + cost
            one, other = (added, there) if added >= 0 else (points.one[there], points.other[there])
            there += 1
        loss = value - terms.price * trips
        if value < room and loss < least - terms.rounding:
            least = loss
            best.withheld[used], best.cost[used], best.one[used], best.other[used] = trips, value, one, other
            used += 1
    return best, used


merge = compiled(_merge)


def _add_up(
    points: Front, one: tuple[int, int], other: tuple[int, int], room: float, terms: Terms
) -> tuple[Front, int, int]:
    """Return the best sums of two fronts that cost less than `room`, how many, and the points looked at."""
    if one[1] - one[0] > other[1] - other[0]:
        one, other = other, one
    none: Whole = np.int64(0)
    best, count, work = empty_front(none), none, 1
    for place in range(one[0], one[1]):
        work += count + other[1] - other[0]
        best, count = merge(best, count, Part(points, other[0], other[1], place), room, terms)
    return best, count, work


add_up = compiled(_add_up)


def _append(points: Front, used: int, front: Front, count: int) -> tuple[Front, int]:
    """Put a front behind the points in use; return them and the new end."""
    points = with_room(points, used, count)
    for point in range(count):
        points.withheld[used + point], points.cost[used + point] = front.withheld[point], front.cost[point]
        points.one[used + point], points.other[used + point] = front.one[point], front.other[point]
    return points, used + count


append = compiled(_append)


def _front_of(
    points: Front, spans: IntArray, place: int, opened: Open, most: int, terms: Terms
) -> tuple[Front, int, int]:
    """Return the front of an open cell, how many points it has, and how many were looked at.

    spans: by split, where its points begin and end. most: trips that may be withheld.
    """
    none: Whole = np.int64(0)
    front, count, work = empty_front(none), none, 1
    for split in range(opened.first_split[place], opened.first_split[place + 1]):
        part = Part(points, spans[0, split], spans[1, split], -1)
        work += count + part.stop - part.start
        front, count = merge(front, count, part, opened.room[place], terms)
    if opened.whole[place] < opened.room[place]:
        whole = empty_front(none + 1)
        whole.withheld[0], whole.cost[0] = -opened.withheld[place], opened.whole[place]
        whole.one[0], whole.other[0] = _WHOLE, opened.cell[place]
        front, count = merge(front, count, Part(whole, 0, 1, -1), opened.room[place], terms)
    while count and front.withheld[count - 1] + opened.withheld[place] > most:
        count -= 1
    return front, count, work


front_of = compiled(_front_of)


def _find_front(opened: Open, gap: float, most: int, terms: Terms) -> tuple[Front, int, int, bool]:
    """Return the points of all fronts, where the front of all matrices begins and ends, and whether there was no limit.

    Cells that are not open add nothing: their best choice stands.
    """
    points, used, work = empty_front(len(opened.more) + 1), 0, 0
    spans = np.empty((2, len(opened.more)), np.int64)
    for split in range(len(opened.more)):
        points.withheld[split], points.cost[split] = opened.lost[split], opened.more[split]
        points.one[split] = _WHOLE - opened.choice[split]
        points.other[split] = opened.cell[opened.owner[split]]
        spans[0, split], spans[1, split] = split, split + 1
    used = len(opened.more)
    points.withheld[used], points.cost[used], points.one[used], points.other[used] = 0, 0.0, 0, -1
    total = (used, used + 1)
    used += 1
    for place in range(len(opened.cell) - 1, -1, -1):
        front, count, looked = front_of(points, spans, place, opened, most, terms)
        work += looked
        own = (used, used + count)
        points, used = append(points, used, front, count)
        for entry in range(opened.first_above[place], opened.first_above[place + 1]):
            split = opened.above[entry]
            room = opened.room[opened.owner[split]]
            front, count, looked = add_up(points, (spans[0, split], spans[1, split]), own, room, terms)
            work += looked
            spans[0, split], spans[1, split] = used, used + count
            points, used = append(points, used, front, count)
        if opened.first_above[place] == opened.first_above[place + 1]:
            front, count, looked = add_up(points, total, own, gap, terms)
            work += looked
            total = (used, used + count)
            points, used = append(points, used, front, count)
        if work > terms.most_work or used > terms.most_points:
            return points, total[0], total[1], False
    return points, total[0], total[1], True


find_front = compiled(_find_front)


def _follow(points: Front, point: int, choice: ChoiceArray) -> None:
    """Write the choices of a point."""
    waiting = [point]
    while len(waiting) > 0:
        point = waiting.pop()
        if points.other[point] < 0:  # nothing chosen yet
            continue
        if points.one[point] <= _WHOLE:
            choice[points.other[point]] = _WHOLE - points.one[point]
        else:
            waiting.append(points.one[point])
            waiting.append(points.other[point])


follow = compiled(_follow)
