"""Compiled inner program of gather: the best set of boxes of a group at a price, exactly (docs/trajectories.md).

All numbers are whole. A box costs what GLOVE's stretch would charge it: `by_space` a cell of width and height,
`by_time` a step of time, as in `kernels`; times `SCALE`, so that prices are finer than costs. A row that is kept earns
the price, and pays the cost of its box. A box grows with every sample it takes in, hence so does its cost: a search
ends where the cost reaches the price.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import Whole, compiled

if TYPE_CHECKING:
    from flowveil._arrays import IntArray

SCALE = 64  # a price is a whole number of 64ths of the least cost


class Paths(NamedTuple):
    """Samples by user, each user's in the order of time, as in `Trajectories`."""

    t: IntArray
    x: IntArray
    y: IntArray
    rows: IntArray
    start: IntArray


class Terms(NamedTuple):
    """What boxes earn, cost, and may be at most."""

    price: int
    by_space: int
    by_time: int
    max_extent: int  # cells
    max_duration: int  # steps of time


class Room(NamedTuple):
    """Where one thread writes: as many columns as a group may have samples, and users."""

    moments: IntArray  # t, x0, x1, y0, y1, rows before, latest start that holds every member, best, start of the box
    hands: IntArray  # by member: the next sample, the latest moment


def make_room(paths: Paths, users: int) -> Room:
    """Return room for groups of so many users."""
    lengths = np.sort(np.diff(paths.start))[::-1]
    return Room(np.empty((9, int(lengths[:users].sum()) + 1), np.int64), np.empty((2, users), np.int64))


@compiled
def line_up(paths: Paths, members: IntArray, room: Room) -> Whole:
    """Write the moments of all members in order, one for all samples of a step of time; return how many."""
    t, x, y, rows, start = paths
    moments, hands = room
    users = len(members)
    for hand in range(users):
        hands[0, hand], hands[1, hand] = start[members[hand]], -1
    moments[5, 0] = 0
    count = 0
    while True:
        now = np.int64(2**62)
        for hand in range(users):
            if hands[0, hand] < start[members[hand] + 1]:
                now = min(now, t[hands[0, hand]])
        if now == np.int64(2**62):
            return count
        west, east, south, north = np.int64(2**62), np.int64(-(2**62)), np.int64(2**62), np.int64(-(2**62))
        held, oldest = np.int64(0), np.int64(count)
        for hand in range(users):
            end = start[members[hand] + 1]
            while hands[0, hand] < end and t[hands[0, hand]] == now:
                sample = hands[0, hand]
                west, east = min(west, x[sample]), max(east, x[sample])
                south, north = min(south, y[sample]), max(north, y[sample])
                held += rows[sample]
                hands[0, hand] += 1
                hands[1, hand] = count
            oldest = min(oldest, hands[1, hand])
        moments[0, count], moments[1, count], moments[2, count] = now, west, east
        moments[3, count], moments[4, count] = south, north
        moments[5, count + 1] = moments[5, count] + held
        moments[6, count] = oldest
        count += 1


@compiled
def line_up_two(paths: Paths, one: int, other: int, room: Room) -> Whole:
    """Write what `line_up` does, for two members: several times as fast."""
    t, x, y, rows, start = paths
    moments = room.moments
    a, b, a_end, b_end = start[one], start[other], start[one + 1], start[other + 1]
    a_last, b_last = np.int64(-1), np.int64(-1)
    count, before = np.int64(0), np.int64(0)
    moments[5, 0] = 0
    while a < a_end or b < b_end:
        if b == b_end or (a < a_end and t[a] <= t[b]):
            now, west, east, south, north = t[a], x[a], x[a], y[a], y[a]
        else:
            now, west, east, south, north = t[b], x[b], x[b], y[b], y[b]
        while a < a_end and t[a] == now:
            west, east, south, north = min(west, x[a]), max(east, x[a]), min(south, y[a]), max(north, y[a])
            before += rows[a]
            a_last = count
            a += 1
        while b < b_end and t[b] == now:
            west, east, south, north = min(west, x[b]), max(east, x[b]), min(south, y[b]), max(north, y[b])
            before += rows[b]
            b_last = count
            b += 1
        moments[0, count], moments[1, count], moments[2, count] = now, west, east
        moments[3, count], moments[4, count] = south, north
        moments[5, count + 1], moments[6, count] = before, min(a_last, b_last)
        count += 1
    return count


@compiled
def solve(terms: Terms, room: Room, count: int) -> Whole:
    """Return the most that disjoint boxes of the moments earn; each box ends at the moment before its entry in row 8.

    Row 7 holds the most that the moments before earn, row 8 where the last of their boxes starts, -1 where the moment
    before is in none.
    """
    price, by_space, by_time, max_extent, max_duration = terms
    moments = room.moments
    moments[7, 0] = 0
    for last in range(count):
        best, chosen = moments[7, last], -1
        latest = moments[6, last]
        end = moments[0, last] + 1
        if latest >= 0 and SCALE * by_time * (end - moments[0, latest]) < price:
            west, east, south, north = np.int64(2**62), np.int64(-(2**62)), np.int64(2**62), np.int64(-(2**62))
            for first in range(last, -1, -1):
                west, east = min(west, moments[1, first]), max(east, moments[2, first])
                south, north = min(south, moments[3, first]), max(north, moments[4, first])
                wide, tall, span = east - west + 1, north - south + 1, end - moments[0, first]
                profit = price - SCALE * (by_space * (wide + tall) + by_time * span)
                if profit <= 0 or max(wide, tall) > max_extent or span > max_duration:
                    break
                if first <= latest:
                    value = moments[7, first] + (moments[5, last + 1] - moments[5, first]) * profit
                    if value > best:
                        best, chosen = value, first
        moments[7, last + 1], moments[8, last + 1] = best, chosen
    return moments[7, count]


@compiled
def gain(paths: Paths, members: IntArray, terms: Terms, room: Room) -> Whole:
    """Return the most that boxes of a group earn in which every member was seen, and whose spans are disjoint."""
    if len(members) == 2:
        return solve(terms, room, line_up_two(paths, members[0], members[1], room))
    return solve(terms, room, line_up(paths, members, room))


@compiled
def boxes_of(paths: Paths, members: IntArray, terms: Terms, room: Room) -> tuple[IntArray, Whole]:
    """Return boxes (t0, t1, x0, x1, y0, y1) that earn the most, in the order of time, and the rows in them."""
    count = line_up(paths, members, room)
    solve(terms, room, count)
    moments = room.moments
    number, kept, place = 0, np.int64(0), count
    while place > 0:
        first = moments[8, place]
        if first < 0:
            place -= 1
        else:
            kept += moments[5, place] - moments[5, first]
            number += 1
            place = first
    boxes = np.empty((6, number), np.int64)
    place = count
    while place > 0:
        first = moments[8, place]
        if first < 0:
            place -= 1
            continue
        number -= 1
        boxes[0, number], boxes[1, number] = moments[0, first], moments[0, place - 1] + 1
        boxes[2, number], boxes[3, number] = moments[1, first:place].min(), moments[2, first:place].max() + 1
        boxes[4, number], boxes[5, number] = moments[3, first:place].min(), moments[4, first:place].max() + 1
        place = first
    return boxes, kept
