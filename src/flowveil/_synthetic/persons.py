"""The people of the city: where each lives, works and likes to go, who they are, and whom they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from flowveil._synthetic.plane import Positions, keep_inside, scatter
from flowveil._synthetic.streams import Stream, open_stream

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._synthetic.landscape import Landscape

SEXES = ("female", "male")
AGE_GROUPS = ("0-14", "15-24", "25-44", "45-64", "65+")
_AGE_SHARES = (0.16, 0.12, 0.27, 0.26, 0.19)
_SHARE_WORKING = np.array([0.0, 0.45, 0.85, 0.75, 0.05])

# Socio-professional categories: those who work draw one of the first six, by share.
CATEGORIES = ("farmer", "independent", "executive", "intermediate", "employee", "worker", "retired", "other")
_CATEGORY_SHARES = (0.02, 0.07, 0.24, 0.25, 0.26, 0.16)
_RETIRED, _OTHER = 6, 7
_OLDEST = len(AGE_GROUPS) - 1

# Columns of `Persons.anchors`.
HOME, WORK = 0, 1
FAVORITES = (2, 3, 4)

# Mean distance people accept, in meters, before the attraction of a place has its say.
_WORK_REACH = 3_500.0
_LEISURE_REACH = 5_000.0
# A workplace is a campus or a block of offices, a hot spot has a few entrances; in meters.
_WORK_SPREAD = 150.0
_HOT_SPOT_SPREAD = 60.0

# Survey weights: a typical person stands for 50 residents, the young answer surveys less often than the old.
_TYPICAL_WEIGHT = 50.0
_WEIGHT_SPREAD = 0.5
_WEIGHT_OF_AGE = np.array([1.3, 1.6, 1.1, 0.9, 0.7])
_WEIGHT_DECIMALS = 3
_SMALLEST_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Persons:
    """One row a person: anchors (home, work, three favorite places), attributes as codes, survey weight."""

    anchors: Positions
    works: BoolArray
    sex: npt.NDArray[np.int8]
    age_group: npt.NDArray[np.int8]
    category: npt.NDArray[np.int8]
    weight: FloatArray


def draw_persons(seed: int, landscape: Landscape, count: int) -> Persons:
    """Return the persons of the city with this seed."""
    random = open_stream(seed, Stream.PERSONS)
    living_in, homes = landscape.settle(random, count)
    anchors = np.empty((count, 2 + len(FAVORITES)), dtype=np.complex64)
    anchors[:, HOME] = homes
    work = landscape.workplaces.choose(random, landscape.neighborhoods, living_in, _WORK_REACH)
    anchors[:, WORK] = landscape.workplaces.positions[work] + scatter(random, count, _WORK_SPREAD)
    for column in FAVORITES:
        favorite = landscape.hot_spots.choose(random, landscape.neighborhoods, living_in, _LEISURE_REACH)
        anchors[:, column] = landscape.hot_spots.positions[favorite] + scatter(random, count, _HOT_SPOT_SPREAD)

    age_group = random.choice(len(AGE_GROUPS), size=count, p=_AGE_SHARES)
    spread = np.exp(_WEIGHT_SPREAD * random.standard_normal(count))
    weight = np.maximum(_TYPICAL_WEIGHT * _WEIGHT_OF_AGE[age_group] * spread, _SMALLEST_WEIGHT)
    works = random.random(count) < _SHARE_WORKING[age_group]
    return Persons(
        anchors=keep_inside(anchors),
        works=works,
        sex=random.integers(len(SEXES), size=count, dtype=np.int8),
        age_group=age_group.astype(np.int8),
        category=_draw_categories(seed, works, age_group == _OLDEST),
        weight=np.asarray(np.round(weight, _WEIGHT_DECIMALS), np.float64),
    )


def _draw_categories(seed: int, works: BoolArray, old: BoolArray) -> npt.NDArray[np.int8]:
    # A stream of its own: what else a seed means does not depend on it.
    random = open_stream(seed, Stream.CATEGORIES)
    job = random.choice(len(_CATEGORY_SHARES), size=len(works), p=_CATEGORY_SHARES)
    return np.where(works, job, np.where(old, _RETIRED, _OTHER)).astype(np.int8)
