"""Trips made denser, or places finer, as the ATG paper makes senegal_big and senegal_split (appendix A)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._options import parse_whole
from flowveil._synthetic.plane import METERS_PER_DEGREE

if TYPE_CHECKING:
    from flowveil._arrays import ChunkedColumn, Column, IntArray

_DAY = 86_400_000_000  # microseconds
_SHARES = (0.4, 0.3, 0.2, 0.1)  # of the trips of a place, by part
_APART = 100.0  # meters from the middle of a zone to the middles of its parts
_CORNERS = ((-1, -1), (1, -1), (-1, 1), (1, 1))


def fold_days(trips: pa.Table, days: int = 1) -> pa.Table:
    """Return trips of a long time laid over its first days, at the same time of the period: fewer, fuller matrices.

    trips: with `start_time`, and `person_id` where persons are known. days: length of the period. Who travels in
    another period counts as another person, as phones of the paper's data do.

    >>> trips = fv.synthetic.fold_days(fv.synthetic.City(persons=100).trips(1_000), days=1)
    >>> len(set(trips["start_time"].cast("date32").to_pylist()))
    1
    """
    _check_table(trips, "start_time")
    length = parse_whole(days, "days", "it is a whole number of days, 1 or more") * _DAY
    kind = trips["start_time"].type
    moment = trips["start_time"].cast(pa.int64()).to_numpy()
    first = moment.min() // _DAY * _DAY if len(moment) else 0
    period, inside = np.divmod(moment - first, length)
    folded = trips.set_column(trips.column_names.index("start_time"), "start_time", pa.array(first + inside).cast(kind))
    if "person_id" in trips.column_names:
        persons = _joined(trips["person_id"], period, "-")
        folded = folded.set_column(trips.column_names.index("person_id"), "person_id", persons)
    return folded


def split_zones(trips: pa.Table, zones: pa.Table, seed: int = 0) -> tuple[pa.Table, pa.Table]:
    """Return trips and zones with every zone cut into four, among which trips are drawn unevenly: 40, 30, 20 and 10 %.

    trips: with `origin` and `destination`, the zones of their ends; both ends are drawn independently. zones: with
    `zone_id`, `lon` and `lat`. Parts lie around the middle of their zone, and have no outlines. seed: of the draws.

    >>> city = fv.synthetic.City(persons=100)
    >>> trips, zones = fv.synthetic.split_zones(city.trips(1_000, ends="zones"), city.zones())
    >>> zones.num_rows, trips["origin"][0].as_py()[-2:]
    (1200, '/2')
    """
    _check_table(trips, "origin", "destination")
    _check_table(zones, "zone_id", "lon", "lat")
    random = np.random.default_rng([parse_whole(seed, "seed", "a seed is a whole number, 0 or more", 0)])
    for side in ("origin", "destination"):
        part = random.choice(len(_SHARES), trips.num_rows, p=_SHARES) + 1
        drawn = _joined(trips[side], part, "/")
        trips = trips.set_column(trips.column_names.index(side), side, drawn)
    names, lon, lat = (zones[name].to_numpy(zero_copy_only=False) for name in ("zone_id", "lon", "lat"))
    across, up = (_APART / meters for meters in METERS_PER_DEGREE)
    parts = [
        pa.table(
            {
                "zone_id": [f"{name}/{number}" for name in names],
                "lon": lon + east * across,
                "lat": lat + north * up,
            }
        )
        for number, (east, north) in enumerate(_CORNERS, 1)
    ]
    return trips, pa.concat_tables(parts).sort_by("zone_id")


def _check_table(table: object, *names: str) -> None:
    """Raise for what is not a table with these columns."""
    if not isinstance(table, pa.Table) or not set(names) <= set(table.column_names):
        raise InputError(f"a table with {', '.join(names)} is needed", "give trips and zones of fv.synthetic.City")


def _joined(names: ChunkedColumn, numbers: IntArray, sign: str) -> Column:
    """Return names with a sign and a number behind them."""
    together = cast("Any", pc.binary_join_element_wise)  # Any: the stubs know no columns
    joined: Column = together(names, pa.array(numbers).cast(pa.string()), sign)
    return joined
