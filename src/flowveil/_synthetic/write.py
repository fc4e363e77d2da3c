"""The city as a Parquet file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from flowveil._options import check_path, parse_whole
from flowveil._synthetic.city import City, Ends

if TYPE_CHECKING:
    from pathlib import Path

# Trips of a person in 14 days if not told otherwise; the limit keeps the peak of memory near 400 MB.
_TRIPS_A_PERSON = 20
_PERSONS_LIMIT = 2_000_000

# Columns with repeated values. A dictionary of times or coordinates would double the time and save nothing.
_REPEATED = ["person_id", "sex", "age_group", "category", "weight", "origin", "destination"]


# The city of the demo: large enough to look like one, done in a second.
DEMO_TRIPS, DEMO_PERSONS = 200_000, 5_000


def write_demo_city(path: str | Path) -> City:
    """Write the trips of the demo.

    path: the file to write.

    >>> fv.synthetic.write_demo_city("demo.parquet").persons
    5000
    """
    return write_city(path, trips=DEMO_TRIPS, persons=DEMO_PERSONS)


def write_city(
    path: str | Path, *, trips: int, seed: int = 0, persons: int | None = None, ends: Ends = "points"
) -> City:
    """Write the first trips of a city to a Parquet file, batch by batch, and return the city.

    Without `persons`, there is one for every 20 trips, up to 2 million.
    path: the file. seed, persons: as for `City`. ends: "points" or "zones".

    >>> fv.synthetic.write_city("city.parquet", trips=1_000, seed=7).persons
    50
    """
    check_path(path, "path")
    trips = parse_whole(trips, "trips", "give a whole number from 0 up", 0)
    if persons is None:
        persons = min(max(trips // _TRIPS_A_PERSON, 1), _PERSONS_LIMIT)
    city = City(seed=seed, persons=persons)
    batches = city.batches(trips, ends=ends)
    schema = city.trips(0, ends=ends).schema
    repeated = [name for name in schema.names if name in _REPEATED]
    kinds: Any = repeated  # the stubs of pyarrow know no list of columns
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=kinds) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return city
