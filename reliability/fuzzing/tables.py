"""Tables of any shape: columns that are missing, of other types, with values that nobody expects."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from random import Random

NUMBERS = (
    0.0,
    -0.0,
    1.0,
    0.5,
    -1.0,
    4.5,
    50.3,
    180.0,
    -180.0,
    90.0,
    181.0,
    1e-320,
    1e308,
    float("nan"),
    float("inf"),
    -1e18,
)
WHOLES = (0, 1, -1, 2, 10, 127, -128, 255, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63))
TEXTS = (
    *(
        "",
        " ",
        "a",
        "b",
        "07",
        "7",
        "4.5",
        "4,5",
        "50.3",
        "1e5",
        "nan",
        "None",
        "null",
        "p1",
        "f",
        "world",
        "elsewhere",
        "total",
    ),
    *(
        "2024-05-01T08:30:00+02:00",
        "2024-05-01",
        "1714545000",
        "a" * 300,
        "\x00",
        "ä\u0301",
        "\u202e",
        "🚲",
        "'",
        '"',
        "a/b=c",
    ),
)
MOMENTS = (0, 1, -1, 1_714_545_000, 2**31, 2_145_916_800, 253_402_300_799, -62_135_596_800)
TYPES = (
    *(
        pa.int8(),
        pa.int32(),
        pa.int64(),
        pa.uint64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.large_string(),
        pa.bool_(),
    ),
    *(
        pa.binary(),
        pa.date32(),
        pa.timestamp("s"),
        pa.timestamp("us", "UTC"),
        pa.timestamp("ns", "Europe/Rome"),
        pa.null(),
    ),
    *(pa.decimal128(9, 3), pa.time64("us"), pa.duration("s"), pa.list_(pa.int64()), pa.struct({"x": pa.float64()})),
    *(
        pa.dictionary(pa.int32(), pa.string()),
        pa.string_view(),
        pa.float16(),
        pa.month_day_nano_interval(),
        pa.binary(4),
    ),
)


def any_table(chance: Random, table: pa.Table) -> pa.Table:
    """Return a table with some columns that are not as they should be."""
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        if not table.num_columns:
            return table
        place = chance.randrange(table.num_columns)
        name = table.column_names[place]
        what = chance.randrange(9)
        if what == 0:
            table = table.remove_column(place)
        elif what == 1:
            table = table.slice(0, chance.choice((0, 1, 2)))
        elif what == 2:
            table = table.rename_columns(
                [
                    chance.choice((*TEXTS, *table.column_names)) if at == place else old
                    for at, old in enumerate(table.column_names)
                ]
            )
        elif what == 3:
            table = pa.concat_tables([table] * chance.choice((2, 3)))
        elif what == 4:
            table = table.append_column(
                chance.choice(("count", "trips", "time", "user", "lon", "geometry", name)),
                any_column(chance, table.num_rows),
            )
        elif what == 5:
            table = table.replace_schema_metadata(
                {b"geo": chance.choice((b"{}", b"[]", b"1", b"\xff", b'{"primary_column": 1}', b'{"columns": []}'))}
            )
        elif what == 6:
            table = table.set_column(place, name, any_column(chance, table.num_rows))
        else:
            table = table.set_column(place, name, spoiled(chance, table.column(place)))
    return table


def any_column(chance: Random, rows: int) -> pa.Array:
    """Return a column of any type."""
    kind = chance.choice(TYPES)
    values = [None if chance.random() < 0.1 else any_value(chance, kind) for _ in range(rows)]
    if chance.random() < 0.3:
        values = values[:1] * rows
    return pa.array(values, kind)


def spoiled(chance: Random, column: pa.ChunkedArray) -> pa.Array:
    """Return a column with some values of its type that nobody expects."""
    values = column.to_pylist()
    for _ in range(chance.choice((1, 1, 2, len(values)))):
        if values:
            values[chance.randrange(len(values))] = None if chance.random() < 0.2 else any_value(chance, column.type)
    return pa.array(values, column.type)


def any_value(chance: Random, kind: pa.DataType) -> object:  # noqa: PLR0912  one for each kind
    """Return a value of a type."""
    if pa.types.is_dictionary(kind):
        return any_value(chance, kind.value_type)
    if pa.types.is_boolean(kind):
        return chance.random() < 0.5
    if pa.types.is_integer(kind):
        bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return min(max(chance.choice(WHOLES), low), high)
    if pa.types.is_float16(kind):
        import numpy as np

        return np.float16(chance.choice((0.0, 1.0, 4.5, float("nan"))))
    if pa.types.is_floating(kind):
        return chance.choice(NUMBERS)
    if pa.types.is_decimal(kind):
        return Decimal(chance.choice(("0", "4.5", "-999999.999", "50.300")))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return chance.choice(TEXTS)
    if kind == pa.binary(4):
        return chance.choice((b"abcd", b"\x00\xff\x00\xff"))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return chance.choice(
            (b"", b"\xff", b"a", b"\x01\x01\x00\x00\x00" + bytes(16), b"\x01\x06\x00\x00\x00\xff\xff\xff\xff")
        )
    if pa.types.is_date(kind):
        return date.fromordinal(chance.choice((1, 719_163, 738_000, 3_652_059)))
    if pa.types.is_timestamp(kind):
        second = chance.choice(MOMENTS) if kind.unit != "ns" else chance.choice(MOMENTS[:6])
        return datetime(1970, 1, 1, tzinfo=UTC if kind.tz else None) + timedelta(seconds=second)
    if pa.types.is_time(kind):
        return datetime(1970, 1, 1, chance.randrange(24), tzinfo=UTC).time()
    if pa.types.is_duration(kind):
        return timedelta(seconds=chance.choice((0, -1, 86_400)))
    if pa.types.is_list(kind):
        return [any_value(chance, kind.value_type) for _ in range(chance.choice((0, 1, 3)))]
    if pa.types.is_struct(kind):
        return {field.name: any_value(chance, field.type) for field in kind}
    if kind == pa.month_day_nano_interval():
        return pa.MonthDayNano([1, 2, 3])
    return None
