"""The parts of a private model of paths: what each one counts, and its share of epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

UNITS = 10_000  # what a user is divided into: a user adds at most so many to a part, over all of its cells
GRID = "grid"  # the charge for how the box is divided

HOME, WORK, FAVORITE, PASSING = range(4)  # what a place is to a user
ROLES = 4
RANKS = 8  # favorite places of a user that are told apart; those beyond are passed
_DISTINCT = RANKS + 2  # none, one, ..., RANKS, more
GAPS = 3  # classes of time between two samples
_GAP_EDGES = (60, 360)  # minutes
CHOICES = 1 + ROLES  # the place is the same, or another one of a role
SLOTS = 16  # of three hours, of weekdays and of weekends
SLOT_HOURS = 3
HOURS = 48  # of weekdays and of weekends
DISTANCES = 14  # classes: the same place, up to one cell, up to two, four, ...
_SIZES = 48  # classes of numbers of samples, four an octave
OCTAVES = 13  # classes of numbers of samples, one an octave; the last one is open
STAYS = 4  # places where a user stayed longest, that are counted

# Thousandths of epsilon, chosen on the phones of seed 0 and no other data.
SHARES = {
    "users": 10,
    "sizes": 40,
    "active": 25,
    "days": 10,
    "hours": 45,
    GRID: 330,
    "homes": 95,
    "works": 75,
    "visits": 75,
    "stays": 30,
    "distinct": 35,
    "ranks": 15,
    "roles": 55,
    "steps": 50,
    "commutes": 25,
    "reach": 25,
    "jumps": 10,
    "pairs": 30,
    "moves": 20,
}


def part_shapes(places: int, blocks: int, days: int) -> dict[str, tuple[int, int]]:
    """Return rows and columns of every part but the grid, in the order in which they are charged."""
    octaves_of_days = octave(np.array([days]))[0] + 1
    return {
        "users": (1, 1),
        "sizes": (_SIZES, 1),
        "active": (OCTAVES, int(octaves_of_days)),
        "days": (days, 1),
        "hours": (2, HOURS // 2),
        "homes": (places, 1),
        "works": (places + 1, 1),  # the last one: none
        "visits": (places, 1),
        "stays": (places, 1),
        "distinct": (OCTAVES, _DISTINCT),
        "ranks": (RANKS, 1),
        "roles": (SLOTS, ROLES),
        "steps": (ROLES * GAPS, CHOICES),
        "commutes": (DISTANCES, 1),
        "reach": (DISTANCES, 1),
        "jumps": (DISTANCES, 1),
        "pairs": (blocks, blocks),
        "moves": (blocks, blocks),
    }


def octave(numbers: IntArray) -> IntArray:
    """Return the class of numbers from 1 up: 1, 2 to 3, 4 to 7, ..."""
    classes: IntArray = np.minimum(np.floor(np.log2(numbers)).astype(np.int64), OCTAVES - 1)
    return classes


def size_class(numbers: IntArray) -> IntArray:
    """Return the class of numbers of samples: up to 8 each its own, then four an octave."""
    fine = np.floor(4 * np.log2(np.maximum(numbers, 8) / 8)).astype(np.int64) + 7
    classes: IntArray = np.minimum(np.where(numbers <= 8, numbers - 1, fine), _SIZES - 1)
    return classes


def size_edges() -> FloatArray:
    """Return the least number of samples of each class, and the end of the last one."""
    fine = 8 * 2 ** (np.arange(_SIZES - 6) / 4)
    edges: FloatArray = np.concatenate([np.arange(1, 8), fine])
    return edges


def gap_class(minutes: IntArray) -> IntArray:
    """Return the class of a time between two samples."""
    return np.searchsorted(np.array(_GAP_EDGES), minutes, side="left")


def distance_class(cells: FloatArray) -> IntArray:
    """Return the class of distances in cells of the grid."""
    rank = np.floor(np.log2(np.maximum(cells, 0.5))).astype(np.int64) + 2
    classes: IntArray = np.where(cells == 0, 0, np.clip(rank, 1, DISTANCES - 1))
    return classes


def slot_of(hour: IntArray, weekend: IntArray) -> IntArray:
    """Return the slot of a local hour."""
    return weekend * (SLOTS // 2) + hour // SLOT_HOURS
