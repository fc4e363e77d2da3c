"""The synthetic city: its landscape, persons, journeys, zones and phones."""

from flowveil._synthetic.city import CITY_PERIOD, City
from flowveil._synthetic.constructions import fold_days, split_zones
from flowveil._synthetic.phone_paths import PHONES_BBOX, phones
from flowveil._synthetic.plane import CITY_BBOX
from flowveil._synthetic.write import DEMO_PERSONS, DEMO_TRIPS, write_city, write_demo_city

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
