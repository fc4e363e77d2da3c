"""Compiled loops that link and price the cells of a cube. Imported only when one is built: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._problem.cube import LinkArray, Links


class Splitting(NamedTuple):
    """How areas are split: the ways of area a are `first_way[a]` to `first_way[a + 1]` - 1.

    Way w has the parts `part[first_part[w]]` to `part[first_part[w + 1] - 1]`, ascending areas. One without parts is
    not possible; a tile has one.
    """

    first_way: IntArray
    first_part: IntArray
    part: IntArray


class Axes(NamedTuple):
    """Along what cells are split."""

    origins: Splitting
    destinations: Splitting
    sheets: Splitting  # of cells; empty where origins and destinations are all axes


class Cells(NamedTuple):
    """Cells, sorted by sheet, origin and destination; those of sheet s are `edges[s]` to `edges[s + 1]` - 1."""

    edges: IntArray
    origin: LinkArray
    destination: LinkArray
    trips: IntArray


class Desk(NamedTuple):
    """Room to work in."""

    filled: IntArray  # how many splits and parts there are
    row: IntArray  # by origin: its first cell in the sheet that it was last met in (the first row), and their end
    place: IntArray  # by destination: the last cell with it
    next_cell: IntArray  # by part of origins: its cell that is looked at next (the first row), and the end of them
    next_in_sheet: IntArray  # the same by part of sheets


def _find_rows(sheet: int, cells: Cells, sheets: Splitting, desk: Desk) -> None:
    """Find where the cells of each origin of a sheet are, and those of the sheets that it is split into."""
    for cell in range(cells.edges[sheet], cells.edges[sheet + 1]):
        origin = cells.origin[cell]
        if desk.row[0, origin] < cells.edges[sheet]:
            desk.row[0, origin] = cell
        desk.row[1, origin] = cell + 1
    if len(sheets.first_way):
        for entry in range(sheets.first_part[sheet], sheets.first_part[sheet + 1]):
            desk.next_in_sheet[0, entry] = cells.edges[sheets.part[entry]]
            desk.next_in_sheet[1, entry] = cells.edges[sheets.part[entry] + 1]


find_rows = compiled(_find_rows)


def _find_parts(row: int, cells: Cells, origins: Splitting, desk: Desk) -> None:
    """Find where the parts of the cells of an origin may be, which begin at `row`."""
    origin = cells.origin[row]
    ways = origins.first_way[origin], origins.first_way[origin + 1]
    for entry in range(origins.first_part[ways[0]], origins.first_part[ways[1]]):
        part = origins.part[entry]
        is_here = desk.row[0, part] > row
        desk.next_cell[0, entry] = desk.row[0, part] if is_here else 0
        desk.next_cell[1, entry] = desk.row[1, part] if is_here else 0
    for cell in range(row, desk.row[1, origin]):
        desk.place[cells.destination[cell]] = cell


find_parts = compiled(_find_parts)


def _link_row(  # noqa: C901  one loop: splits stand in the order of axes
    row: int, sheet: int, cells: Cells, axes: Axes, desk: Desk, links: Links
) -> None:
    """Make the splits of the cells of an origin, which begin at `row`.

    Along origins and sheets, cells of a part stand in the order of those of the whole: each is looked for where the
    last one was found. Parts along destinations are in the same row.
    """
    origin, destination, trips = cells.origin, cells.destination, cells.trips
    own, there, sheets = axes
    next_cell, next_in_sheet = desk.next_cell, desk.next_in_sheet
    first_part, part, withheld, axis = links.first_part, links.part, links.withheld, links.axis
    split, parts = desk.filled
    for cell in range(row, desk.row[1, origin[row]]):
        area = destination[cell]
        links.first_split[cell] = split
        for way in range(own.first_way[origin[row]], own.first_way[origin[row] + 1]):
            first_part[split], withheld[split], axis[split] = parts, trips[cell], 0
            for entry in range(own.first_part[way], own.first_part[way + 1]):
                other = next_cell[0, entry]
                if other < next_cell[1, entry] and destination[other] == area:
                    next_cell[0, entry] += 1
                    part[parts] = other
                    parts += 1
            links.splittable[split] = own.first_part[way] < own.first_part[way + 1]
            split += 1
        for way in range(there.first_way[area], there.first_way[area + 1]):
            first_part[split], withheld[split], axis[split] = parts, trips[cell], 1
            for entry in range(there.first_part[way], there.first_part[way + 1]):
                other = desk.place[there.part[entry]]
                if other >= row:
                    part[parts] = other
                    parts += 1
            links.splittable[split] = there.first_part[way] < there.first_part[way + 1]
            split += 1
        if len(sheets.first_way):
            first_part[split], withheld[split], axis[split] = parts, trips[cell], 2
            for entry in range(sheets.first_part[sheet], sheets.first_part[sheet + 1]):
                other = next_in_sheet[0, entry]
                if other < next_in_sheet[1, entry] and destination[other] == area and origin[other] == origin[row]:
                    next_in_sheet[0, entry] += 1
                    part[parts] = other
                    parts += 1
            links.splittable[split] = sheets.first_part[sheet] < sheets.first_part[sheet + 1]
            split += 1
    desk.filled[0], desk.filled[1] = split, parts


link_row = compiled(_link_row)


def _link(cells: Cells, axes: Axes, desk: Desk, links: Links) -> None:
    """Make the splits of all cells, with their parts and the trips that they withhold."""
    for sheet in range(len(cells.edges) - 1):
        find_rows(sheet, cells, axes.sheets, desk)
        row = cells.edges[sheet]
        while row < cells.edges[sheet + 1]:
            find_parts(row, cells, axes.origins, desk)
            link_row(row, sheet, cells, axes, desk, links)
            row = desk.row[1, cells.origin[row]]
    links.first_split[len(cells.trips)], links.first_part[desk.filled[0]] = desk.filled
    for split in range(len(links.axis)):
        for entry in range(links.first_part[split], links.first_part[split + 1]):
            links.withheld[split] -= cells.trips[links.part[entry]]


link = compiled(_link)


class Spans(NamedTuple):
    """Cells and their records: `order[begin]` to `order[end - 1]`."""

    begin: IntArray
    end: IntArray
    order: IntArray
    trips: IntArray  # by record


class Meters(NamedTuple):
    """By area: the tree that its tiles are ranked in, their first rank, and the place of its first in `meters`."""

    tree: IntArray
    low: IntArray
    first: IntArray
    meters: FloatArray  # from a tile of an area to its center


def _sum_of_meters(spans: Spans, area: IntArray, rank: IntArray, table: Meters) -> FloatArray:
    """Return for each cell the trips' distances from their tile to the center of its area, added up.

    `rank` is by tree (the rows) and record.
    """
    total = np.zeros(len(spans.begin))
    for cell in range(len(total)):
        tree = table.tree[area[cell]]
        before = table.first[area[cell]] - table.low[area[cell]]
        for position in range(spans.begin[cell], spans.end[cell]):
            record = spans.order[position]
            total[cell] += spans.trips[record] * table.meters[before + rank[tree, record]]
    return total


sum_of_meters = compiled(_sum_of_meters)


def _spread_error(spans: Spans, mean: FloatArray) -> FloatArray:
    """Return for each cell the sum over its records of the distance of trips from the cell's mean."""
    total = np.zeros(len(spans.begin))
    for cell in range(len(total)):
        for position in range(spans.begin[cell], spans.end[cell]):
            total[cell] += abs(mean[cell] - spans.trips[spans.order[position]])
    return total


spread_error = compiled(_spread_error)
