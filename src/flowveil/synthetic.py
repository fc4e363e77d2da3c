"""A synthetic city: as many seeded trips as wanted, and zones to count them in, for tests, demos and benchmarks.

>>> from flowveil.synthetic import City
>>> City(seed=7).trips(1_000).num_rows
1000
"""

from flowveil._synthetic import (
    CITY_BBOX,
    CITY_PERIOD,
    DEMO_PERSONS,
    DEMO_TRIPS,
    PHONES_BBOX,
    City,
    fold_days,
    phones,
    split_zones,
    write_city,
    write_demo_city,
)

__all__ = [
    "CITY_BBOX",
    "CITY_PERIOD",
    "DEMO_PERSONS",
    "DEMO_TRIPS",
    "PHONES_BBOX",
    "City",
    "fold_days",
    "phones",
    "split_zones",
    "write_city",
    "write_demo_city",
]
