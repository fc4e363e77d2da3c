"""The city as Arrow tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._options import LARGEST_NUMBER, parse_choice, parse_whole
from flowveil._synthetic.journeys import BLOCK, DAYS, draw_journeys
from flowveil._synthetic.landscape import draw_landscape
from flowveil._synthetic.persons import AGE_GROUPS, CATEGORIES, SEXES, draw_persons
from flowveil._synthetic.plane import CITY_BBOX, to_degrees
from flowveil._synthetic.zones import Zones, draw_zones

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flowveil._arrays import Column, FloatArray, IntArray

_FIRST_DAY = datetime(2024, 3, 4, tzinfo=UTC)
# Every trip starts at or after the first moment and before the second: 14 days from a Monday, without a clock change.
CITY_PERIOD = (_FIRST_DAY, _FIRST_DAY + timedelta(days=DAYS))

# Rows in a batch: what Parquet readers take as one row group.
BATCH = 1 << 17

# Person ids are `p` and seven digits: fixed width makes text cheap.
_ID_DIGITS = 7
_MOST_PERSONS = 10**_ID_DIGITS
_POWERS = 10 ** np.arange(_ID_DIGITS - 1, -1, -1, dtype=np.uint32)

_TIME = pa.timestamp("us", tz="UTC")

Ends = Literal["points", "zones"]


class City:
    """A synthetic city of about 30 km by 30 km, the same for the same seed and number of persons.

    Trips form one endless sequence: fewer trips are the beginning of more.

    >>> city = City(seed=7, persons=500)
    >>> city.trips(1_000).slice(0, 10).equals(city.trips(10))
    True
    """

    def __init__(self, *, seed: int = 0, persons: int = 5_000) -> None:
        self.seed, self.persons = _whole(seed, "seed"), _whole(persons, "persons")
        if self.seed < 0:
            raise InputError(f"the seed {seed} is negative", "give a whole number from 0 up")
        if not 1 <= self.persons <= _MOST_PERSONS:
            raise InputError(f"a city cannot have {persons} persons", f"give a number from 1 to {_MOST_PERSONS}")
        self._landscape = draw_landscape(self.seed)
        self._persons = draw_persons(self.seed, self._landscape, self.persons)

    def trips(self, count: int, *, ends: Ends = "points") -> pa.Table:
        """Return the first `count` trips.

        Columns: trip_id, person_id, sex, age_group, category, weight, start_time, end_time, and the ends: start_lon,
        start_lat, end_lon, end_lat in degrees ("points"), or origin and destination as zone ids ("zones").

        >>> fv.synthetic.City(persons=100).trips(3, ends="zones").column_names[-2:]
        ['origin', 'destination']
        """
        batches = list(self.batches(count, ends=ends))
        return pa.Table.from_batches(batches or [self._block(0, ends).slice(0, 0)])

    def batches(self, count: int, *, size: int = BATCH, ends: Ends = "points") -> Iterator[pa.RecordBatch]:
        """Return the same trips in batches of `size` rows (the last may be shorter), in memory for one batch.

        count: how many trips. ends: "points" or "zones", as for `trips`.

        >>> [batch.num_rows for batch in fv.synthetic.City(persons=100).batches(25, size=10)]
        [10, 10, 5]
        """
        count, size = _whole(count, "count"), _whole(size, "size")
        if count < 0:
            raise InputError(f"{count} trips were asked for", "give a whole number from 0 up")
        if size < 1:
            raise InputError(f"batches of {size} rows were asked for", "give a whole number from 1 up")
        parse_choice(ends, "kind of ends", ("points", "zones"))
        return _regroup(self._blocks(count, ends), size)

    def zones(self) -> pa.Table:
        """Return the zones, which tile `CITY_BBOX`.

        Columns: zone_id, name, district, region, lon and lat (of the centroid), geometry (WKB). A zone lies in one
        district and a district in one region.

        >>> fv.synthetic.City().zones().num_rows
        300
        """
        return self._zones.table

    def zone_of(self, lon: FloatArray | Sequence[float], lat: FloatArray | Sequence[float]) -> pa.StringArray:
        """Return the zone id of each point; points outside of the city are null.

        lon, lat: in degrees.

        >>> fv.synthetic.City().zone_of([4.5, 0.0], [50.3, 0.0]).to_pylist()
        ['Z088', None]
        """
        x, y = np.asarray(lon, dtype=np.float64), np.asarray(lat, dtype=np.float64)
        west, south, east, north = CITY_BBOX
        inside = (x >= west) & (x <= east) & (y >= south) & (y <= north)
        zones = pa.array(self._zones.find(x, y), pa.int64(), mask=~inside)
        return cast("pa.StringArray", self._zones.table["zone_id"].combine_chunks().take(zones))

    @cached_property
    def _zones(self) -> Zones:
        return draw_zones(self.seed, self._landscape)

    def _blocks(self, count: int, ends: Ends) -> Iterator[pa.RecordBatch]:
        for number in range(-(-count // BLOCK)):
            yield self._block(number, ends).slice(0, count - number * BLOCK)

    def _block(self, number: int, ends: Ends) -> pa.RecordBatch:
        journeys = draw_journeys(self.seed, self._persons, number)
        person = journeys.person
        columns = {
            "trip_id": np.arange(number * BLOCK, (number + 1) * BLOCK),
            "person_id": _write_ids(person),
            "sex": _decode(self._persons.sex[person], SEXES),
            "age_group": _decode(self._persons.age_group[person], AGE_GROUPS),
            "category": _decode(self._persons.category[person], CATEGORIES),
            "weight": self._persons.weight[person],
            "start_time": _to_time(journeys.start_second),
            "end_time": _to_time(journeys.end_second),
        }
        start, end = to_degrees(journeys.start), to_degrees(journeys.end)
        if ends == "points":
            columns |= {"start_lon": start[0], "start_lat": start[1], "end_lon": end[0], "end_lat": end[1]}
        else:
            columns |= {"origin": self.zone_of(*start), "destination": self.zone_of(*end)}
        return pa.record_batch(columns)


def _whole(value: object, name: str) -> int:
    return parse_whole(value, name, f"{name} is a whole number", -LARGEST_NUMBER)


def _regroup(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Return the same rows in batches of `size` rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        taken = 0
        while rows + batch.num_rows - taken >= size:
            waiting.append(batch.slice(taken, size - rows))
            yield _join(waiting)
            taken += size - rows
            waiting, rows = [], 0
        if taken < batch.num_rows:
            waiting.append(batch.slice(taken))
            rows += batch.num_rows - taken
    if waiting:
        yield _join(waiting)


def _join(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _write_ids(persons: IntArray) -> Column:
    """Return `p0000042` for 42, without a Python string for each."""
    text = np.empty((len(persons), 1 + _ID_DIGITS), dtype=np.uint8)
    text[:, 0] = ord("p")
    text[:, 1:] = persons.astype(np.uint32)[:, None] // _POWERS % np.uint32(10) + ord("0")
    offsets = np.arange(len(persons) + 1, dtype=np.int32) * text.shape[1]
    return pa.StringArray.from_buffers(len(persons), pa.py_buffer(offsets.data), pa.py_buffer(text.data))


def _decode(codes: npt.NDArray[np.int8], names: tuple[str, ...]) -> Column:
    # Plain text, not a dictionary: readers of every kind take it.
    return pa.array(names).take(pa.array(codes, pa.int8()))


def _to_time(seconds: IntArray | FloatArray) -> Column:
    microseconds = (int(_FIRST_DAY.timestamp()) + seconds) * 1_000_000
    return pa.array(microseconds).cast(_TIME)
