"""Compiled loops that find publishable cells. Imported only when a cube is built: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.

Origins are taken one after the other, a whole before its parts. What may be published with an origin is among what may
be published with an area that holds it: these destinations are looked at, and no others. The trips of an origin to each
tile are added up in the order of every tree of destinations; those to an area are then the difference of two sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray, KeyArray
    from flowveil._problem.cube import LinkArray
    from flowveil._problem.requirement import Least

SHEET, ORIGIN, CELLS, FILLED, ROW = range(5)  # of `Desk.at`
WORD_BITS = 6  # a word has 2**6 bits
_LAST_BIT = 2**WORD_BITS - 1
_ONE = np.uint64(1)
_MASKS = np.array([0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x7F], np.uint64)
_STEPS = np.array([1, 2, 4, 8, 16, 32], np.uint64)


class Areas(NamedTuple):
    """Areas of one axis, each in the first tree that has it."""

    whole: IntArray  # the area that is split into it and others, -1 for the root
    tree: IntArray
    low: IntArray  # the ranks of its tiles in that tree are `low` to `high` - 1
    high: IntArray
    fine: BoolArray  # whether it has enough tiles
    first_above: IntArray  # the areas that it is a part of are `above[first_above[a]]` to
    above: IntArray  # `above[first_above[a + 1] - 1]`, -1 for none


class Sheets(NamedTuple):
    """Records in sheets, which have no cell in common: those of sheet s are at `start[s]` to `start[s + 1]` - 1."""

    start: IntArray
    order: IntArray  # by tree of origins (the rows) and position: the record, sorted by rank in each sheet
    rank: IntArray  # by tree (the rows) and position: the rank of its origin


class Records(NamedTuple):
    """What is known of records."""

    tile: IntArray  # the rank of its destination in the first tree
    rank: IntArray  # by tree of destinations (the rows) and tile: its rank there
    trips: IntArray
    weight: IntArray  # empty with persons, or without a test of weight


class Axes(NamedTuple):
    """The two axes of a sheet."""

    origins: Areas
    destinations: Areas


class Visits(NamedTuple):
    """Who travels on each record; all empty without a unit."""

    start: IntArray  # by record: its first visit; and the number of visits
    person: IntArray  # by visit
    weight: IntArray  # by person; not read without a test of weight
    seen: IntArray  # by person: the last crowd that they were met in; and the number of crowds tested


class Tests(NamedTuple):
    """What cells must have, and who travels."""

    least: Least
    visits: Visits


class Found(NamedTuple):
    """Cells that were found, sorted by sheet, origin and destination; with room for more."""

    origin: LinkArray
    destination: LinkArray
    trips: IntArray
    begin: IntArray  # its records are `order[begin]` to `order[end - 1]`
    end: IntArray
    order: IntArray  # of origins that were searched last; begin, end and order are empty if records do not matter


class Desk(NamedTuple):
    """Room to work in."""

    at: IntArray  # the sheet and the origin that come next; how many cells there are, and records in order; rows tried
    edges: IntArray  # by sheet: its first cell; and the number of cells
    row: IntArray  # by origin: its first cell in this sheet (the first row), and the end of its cells
    tiles: IntArray  # those that the origin has trips to
    next_place: IntArray  # by tile: where its next record goes
    sums: IntArray  # trips, records and weight (the rows) by tile
    running: IntArray  # trips, records, weight if these matter; by tree and place among the tiles: the sum before it
    words: KeyArray  # by tree of destinations: a bit by rank, set if the origin has trips to the tile
    before: IntArray  # by tree and word: how many bits are set in the words before
    every: LinkArray  # area of destinations
    passed: IntArray  # by area of destinations: the last row that it passed in; -1 less that if a part is a crowd
    good: BoolArray  # by cell of a row: whether it is a crowd


class Work(NamedTuple):
    """What a search writes to."""

    desk: Desk
    found: Found


def _bits(word: int) -> int:
    """Return how many bits of a word are set."""
    word = word - ((word >> _STEPS[0]) & _MASKS[0])
    word = (word & _MASKS[1]) + ((word >> _STEPS[1]) & _MASKS[1])
    word = (word + (word >> _STEPS[2])) & _MASKS[2]
    word = word + (word >> _STEPS[3])
    word = word + (word >> _STEPS[4])
    word = word + (word >> _STEPS[5])
    return int(word & _MASKS[3])


bits = compiled(_bits)


def _place(rank: int, tree: int, words: KeyArray, before: IntArray) -> int:
    """Return how many tiles of the origin have a lower rank in a tree."""
    word = rank >> WORD_BITS
    lower = (_ONE << np.uint64(rank & _LAST_BIT)) - _ONE
    return int(before[tree, word] + bits(words[tree, word] & lower))


place = compiled(_place)


def _gather(inside: IntArray, records: Records, desk: Desk) -> int:
    """Add up records by the tile they go to; return how many tiles there are."""
    count = 0
    for record in inside:
        tile = records.tile[record]
        if desk.sums[1, tile] == 0:
            desk.tiles[count] = tile
            count += 1
        desk.sums[0, tile] += records.trips[record]
        desk.sums[1, tile] += 1
        if len(records.weight):
            desk.sums[2, tile] += records.weight[record]
    return count


gather = compiled(_gather)


def _sort_tiles(tree: int, count: int, rank: IntArray, desk: Desk) -> None:
    """Put the tiles of the origin into the order of a tree, and add up what they have."""
    words, before, running = desk.words[tree], desk.before[tree], desk.running
    words[:] = 0
    for tile in desk.tiles[:count]:
        words[rank[tile] >> WORD_BITS] |= _ONE << np.uint64(rank[tile] & _LAST_BIT)
    total = 0
    for word in range(len(words)):
        before[word] = total
        total += bits(words[word])
    for tile in desk.tiles[:count]:
        at = place(rank[tile], tree, desk.words, desk.before) + 1
        for what in range(len(running)):
            running[what, tree, at] = desk.sums[what, tile]
    for what in range(len(running)):
        for at in range(count):
            running[what, tree, at + 1] += running[what, tree, at]


sort_tiles = compiled(_sort_tiles)


def _sort_records(tree: int, count: int, inside: IntArray, records: Records, desk: Desk, order: IntArray) -> None:
    """Put the records of the origin into the order of a tree; those of one tile stay in theirs."""
    for tile in desk.tiles[:count]:
        at = place(records.rank[tree, tile], tree, desk.words, desk.before)
        desk.next_place[tile] = desk.at[FILLED] + tree * len(inside) + desk.running[1, tree, at]
    for record in inside:
        tile = records.tile[record]
        order[desk.next_place[tile]] = record
        desk.next_place[tile] += 1


sort_records = compiled(_sort_records)


def _enter(size: int, candidates: LinkArray, areas: Areas, least: Least, desk: Desk, found: Found) -> int:
    """Enter the candidates that have enough tiles, trips and weight with the origin, which has so many records.

    Returns their number. A whole comes before its parts, which are passed over if it fails.
    """
    origin, first, filled, row = desk.at[ORIGIN], desk.at[CELLS], desk.at[FILLED], desk.at[ROW]
    words, before, running, passed = desk.words, desk.before, desk.running, desk.passed
    cell = first
    for area in candidates:
        whole, tree = areas.whole[area], areas.tree[area]
        if not areas.fine[area] or (whole >= 0 and passed[whole] != row):
            continue
        begin = place(areas.low[area], tree, words, before)
        end = place(areas.high[area], tree, words, before)
        trips = running[0, tree, end] - running[0, tree, begin]
        if trips < least.crowd:
            continue
        if len(running) > 2 and running[2, tree, end] - running[2, tree, begin] < least.weight:
            continue
        passed[area] = row
        found.origin[cell], found.destination[cell], found.trips[cell] = origin, area, trips
        if len(found.begin):
            start = filled + tree * size
            found.begin[cell], found.end[cell] = start + running[1, tree, begin], start + running[1, tree, end]
        cell += 1
    return int(cell - first)


enter = compiled(_enter)


def _crowd_passes(order: IntArray, begin: int, end: int, visits: Visits, least: Least) -> bool:
    """Return whether the records at some positions hold enough distinct persons, and these enough weight.

    Counting stops once they do.
    """
    seen = visits.seen
    seen[-1] += 1
    tick = seen[-1]
    persons = 0
    weight = 0
    for position in range(begin, end):
        record = order[position]
        for visit in range(visits.start[record], visits.start[record + 1]):
            who = visits.person[visit]
            if seen[who] != tick:
                seen[who] = tick
                persons += 1
                if least.weight > 0:
                    weight += visits.weight[who]
        if persons >= least.crowd and weight >= least.weight:
            return True
    return False


crowd_passes = compiled(_crowd_passes)


def _keep_crowds(count: int, areas: Areas, visits: Visits, least: Least, desk: Desk, found: Found) -> int:
    """Keep of the cells entered last those that are crowds; return their number.

    From the last to the first: what holds a crowd is one.
    """
    first, row = desk.at[CELLS], -1 - desk.at[ROW]
    for cell in range(first + count - 1, first - 1, -1):
        area = found.destination[cell]
        good = desk.passed[area] == row or crowd_passes(found.order, found.begin[cell], found.end[cell], visits, least)
        desk.good[cell - first] = good
        if good:
            for entry in range(areas.first_above[area], areas.first_above[area + 1]):
                if areas.above[entry] >= 0:
                    desk.passed[areas.above[entry]] = row
    kept = first
    for cell in range(first, first + count):
        if desk.good[cell - first]:
            found.destination[kept], found.trips[kept] = found.destination[cell], found.trips[cell]
            found.begin[kept], found.end[kept] = found.begin[cell], found.end[cell]
            kept += 1
    return int(kept - first)


keep_crowds = compiled(_keep_crowds)


def _first_from(rank: IntArray, start: int, stop: int, bound: int) -> int:
    """Return the first position from `start` on whose rank reaches `bound`, or `stop`."""
    while start < stop:
        middle = (start + stop) // 2
        if rank[middle] < bound:
            start = middle + 1
        else:
            stop = middle
    return start


first_from = compiled(_first_from)


def _ascending(records: IntArray) -> IntArray:
    for position in range(1, len(records)):
        if records[position] < records[position - 1]:
            return np.sort(records)
    return records


ascending = compiled(_ascending)


def _fill_row(inside: IntArray, candidates: LinkArray, axes: Axes, records: Records, tests: Tests, work: Work) -> None:
    """Find the cells of an origin, given its records, among some destinations."""
    desk, found = work
    with_records = len(found.begin) > 0
    if with_records:
        inside = ascending(inside)
    count = gather(inside, records, desk)
    trips = 0
    for tile in desk.tiles[:count]:
        trips += desk.sums[0, tile]
    if trips >= tests.least.crowd:
        desk.at[ROW] += 1
        for tree in range(len(records.rank)):
            sort_tiles(tree, count, records.rank[tree], desk)
            if with_records:
                sort_records(tree, count, inside, records, desk, found.order)
        cells = enter(len(inside), candidates, axes.destinations, tests.least, desk, found)
        if len(tests.visits.seen):
            cells = keep_crowds(cells, axes.destinations, tests.visits, tests.least, desk, found)
        desk.at[CELLS] += cells
        if with_records and cells:
            desk.at[FILLED] += len(records.rank) * len(inside)
    for tile in desk.tiles[:count]:
        desk.sums[:, tile] = 0


fill_row = compiled(_fill_row)


def _find_cells(sheets: Sheets, axes: Axes, records: Records, tests: Tests, work: Work) -> int:
    """Find the cells of sheets, from where the desk says on, until all are found or there is no room for more.

    Returns how many records in order the next origin needs room for, -1 when all cells are found.
    """
    desk, found = work
    at, origins = desk.at, axes.origins
    while at[SHEET] < len(sheets.start) - 1:
        sheet = at[SHEET]
        if at[ORIGIN] == 0:
            desk.edges[sheet] = at[CELLS]
        while at[ORIGIN] < len(origins.whole):
            origin = at[ORIGIN]
            whole, tree = origins.whole[origin], origins.tree[origin]
            candidates = desk.every
            if whole >= 0:
                candidates = found.destination[desk.row[0, whole] : desk.row[1, whole]]
            desk.row[:, origin] = at[CELLS]
            if len(candidates) and origins.fine[origin]:
                bounds = sheets.start[sheet], sheets.start[sheet + 1]
                begin = first_from(sheets.rank[tree], bounds[0], bounds[1], origins.low[origin])
                end = first_from(sheets.rank[tree], begin, bounds[1], origins.high[origin])
                needed = (end - begin) * len(records.rank)
                too_many = len(found.begin) > 0 and at[FILLED] + needed > len(found.order)
                if too_many or at[CELLS] + len(candidates) > len(found.destination):
                    return needed
                fill_row(sheets.order[tree, begin:end], candidates, axes, records, tests, work)
                desk.row[1, origin] = at[CELLS]
            at[ORIGIN] += 1
        at[SHEET] += 1
        at[ORIGIN] = 0
    desk.edges[len(sheets.start) - 1] = at[CELLS]
    return -1


find_cells = compiled(_find_cells)
