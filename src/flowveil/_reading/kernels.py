"""Compiled loops that spread flows over pairs of regions. Imported only when a model is fitted: numba is slow.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._reading.parts import Plane, Sums, ZoneParts


def _weigh(plane: Plane, mass: tuple[FloatArray, FloatArray], weight: FloatArray) -> None:
    """Add to the weight of each flow what the model expects on it: masses of both ends times the pull between them."""
    rectangles, (origins, destinations), pull = plane
    for number in range(len(rectangles.flow)):
        start, end = rectangles.origin[number], rectangles.destination[number]
        total = 0.0
        for one in range(origins.first[start], origins.first[start + 1]):
            row = origins.region[one]
            part = 0.0
            for two in range(destinations.first[end], destinations.first[end + 1]):
                part += pull[row, destinations.region[two]] * mass[1][two]
            total += part * mass[0][one]
        weight[rectangles.flow[number]] += rectangles.factor[number] * total


def _place(
    plane: Plane,
    mass: tuple[FloatArray, FloatArray],
    scale: FloatArray,
    reach: tuple[FloatArray, FloatArray],
    between: FloatArray,
) -> None:
    """Spread flows: add to the reach of each piece, and to the sums between regions, in proportion to the model.

    scale: by flow, its trips by expected trip. A spot gets its own mass times the reach of its pieces.
    """
    rectangles, (origins, destinations), pull = plane
    for number in range(len(rectangles.flow)):
        times = rectangles.factor[number] * scale[rectangles.flow[number]]
        if times == 0.0:
            continue
        start, end = rectangles.origin[number], rectangles.destination[number]
        for one in range(origins.first[start], origins.first[start + 1]):
            row = origins.region[one]
            own = mass[0][one] * times
            part = 0.0
            for two in range(destinations.first[end], destinations.first[end + 1]):
                column = destinations.region[two]
                here = pull[row, column]
                part += here * mass[1][two]
                reach[1][two] += own * here
                between[row, column] += own * here * mass[1][two]
            reach[0][one] += part * times


weigh = compiled(_weigh)
place = compiled(_place)


def _flush(scratch: FloatArray, pairs: IntArray, count: int, of_flow: tuple[float, float, float], sums: Sums) -> None:
    """Add the shares of one flow to the sums, and empty them."""
    trips, variance, expected = of_flow
    wide = int(scratch.shape[1])
    for number in range(count):
        row, column = pairs[number] // wide, pairs[number] % wide
        share = scratch[row, column]
        scratch[row, column] = 0.0
        share = min(max(share / expected, 0.0), 1.0) if expected > 0.0 else 0.0
        moving = abs(trips) * share * (1.0 - share)
        sums.trips[row, column] += trips * share
        sums.binomial[row, column] += moving
        sums.square[row, column] += moving * moving
        sums.noise[row, column] += variance * share * share


def _ask(
    plane: Plane,
    free: FloatArray,
    parts: tuple[ZoneParts, ZoneParts],
    told: tuple[FloatArray, FloatArray, FloatArray],
    rows: tuple[int, int],
    sums: Sums,
) -> None:
    """Sum up flows, whose rectangles follow each other, by pair of zones.

    free: the pull between regions in trips that were left out, which flows cover a part of.
    told: trips, variance and expected trips by flow. rows: the first zone of origins that is asked for, and the end.
    """
    rectangles, ends, pull = plane
    scratch = np.zeros(sums.trips.shape)
    pairs = np.zeros(scratch.size, np.int64)
    marked = np.zeros(scratch.shape, np.bool_)
    count = 0
    low, high = rows
    wide = sums.trips.shape[1]
    for number in range(len(rectangles.flow)):
        flow, factor = rectangles.flow[number], rectangles.factor[number]
        start, end = rectangles.origin[number], rectangles.destination[number]
        for one in range(ends[0].first[start], ends[0].first[start + 1]):
            row = ends[0].region[one]
            for here in range(parts[0].first[one], parts[0].first[one + 1]):
                first = parts[0].zone[here]
                if first < low or first >= high:
                    continue
                own = factor * parts[0].mass[here]
                for two in range(ends[1].first[end], ends[1].first[end + 1]):
                    near = own * pull[row, ends[1].region[two]]
                    hidden = own * free[row, ends[1].region[two]]
                    for there in range(parts[1].first[two], parts[1].first[two + 1]):
                        second = parts[1].zone[there]
                        if not marked[first - low, second]:
                            marked[first - low, second] = True
                            pairs[count] = (first - low) * wide + second
                            count += 1
                        scratch[first - low, second] += near * parts[1].mass[there]
                        sums.covered[first - low, second] += hidden * parts[1].mass[there]
        if number + 1 == len(rectangles.flow) or rectangles.flow[number + 1] != flow:
            for entry in range(count):
                marked[pairs[entry] // wide, pairs[entry] % wide] = False
            flush(scratch, pairs, count, (told[0][flow], told[1][flow], told[2][flow]), sums)
            count = 0


flush = compiled(_flush)
ask = compiled(_ask)
