"""Conditions on rows: one expression that looks at one row, parsed by DuckDB, checked, and written anew."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NewType

import duckdb
import pyarrow as pa

from flowveil._engine.duckdb import connection, shape
from flowveil._errors import InputError
from flowveil._options import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from flowveil._engine.source import Source
    from flowveil._folder import Json

Condition = NewType("Condition", str)  # SQL that was checked here: no other text of a user or a file may become SQL

_HINT = (
    "a condition (--where, or 'where' of the audit file) is one DuckDB expression on the columns of one row, with the"
    " functions that docs/command-line.md lists, e.g. --where \"start_time >= '2024-01-01'\""
)
_PARTS = {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT"}
_PARTS |= {"FUNCTION", "OPERATOR", "TYPE"}
# The same value from the same row, whenever and wherever: no clock, no chance, no settings, no files, no other rows.
FUNCTIONS = {
    "operators": "+ - * / // % ** ^ & | ~ << >> @ || ^@ ~~ !~~ ~~* !~~* ~~~ ->>",
    "numbers": """abs acos add asin atan atan2 bit_count cbrt ceil ceiling cos degrees divide even exp fdiv floor fmod
        gcd greatest isfinite isinf isnan lcm least ln log log10 log2 mod multiply pi pow power radians round round_even
        sign sin sqrt subtract tan trunc xor""",
    "text": """ascii bit_length char_length character_length chr concat concat_ws contains damerau_levenshtein ends_with
        format hamming hex ilike_escape instr jaccard jaro_similarity jaro_winkler_similarity lcase left left_grapheme
        len length length_grapheme levenshtein like_escape lower lpad ltrim md5 nfc_normalize not_ilike_escape
        not_like_escape ord overlay position prefix printf regexp_escape regexp_extract regexp_extract_all
        regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right
        right_grapheme rpad rtrim sha1 sha256 split split_part starts_with str_split str_split_regex string_split
        string_split_regex string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix
        translate trim ucase unicode upper url_decode url_encode""",
    "times": """century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname
        dayofmonth dayofweek dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear julian last_day
        make_date make_time make_timestamp microsecond millennium millisecond minute month monthname quarter second
        strftime strptime time_bucket timezone to_centuries to_days to_decades to_hours to_microseconds to_millennia
        to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years try_strptime week
        weekday weekofyear year yearweek""",
    "choices": "if nullif typeof",
    "nested values": """array_contains array_extract array_length array_position array_value cardinality element_at
        flatten json_array_length json_contains json_exists json_extract json_extract_path json_extract_path_text
        json_extract_string json_keys json_type json_valid json_value list_contains list_distinct list_element
        list_extract list_has list_has_all list_has_any list_position list_slice list_sort list_unique list_value map
        map_contains map_entries map_extract map_extract_value map_keys map_values row struct_extract struct_pack""",
}
_FUNCTIONS = frozenset(name for names in FUNCTIONS.values() for name in names.split())


def check_condition(source: Source, where: str | None) -> Condition | None:
    """Return a condition on this source as the SQL to run, None if there is none; raise if it cannot be used."""
    if where is None:
        return None
    if not isinstance(where, str):
        raise InputError(f"the condition {shown(where)} cannot be used: it is no text", _HINT)
    with connection(source) as con:
        table = shape(con, source)
        columns = [row[0] for row in con.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]
        try:
            sql = _written_anew(con, where)
            _check_parts(_expression(con, sql), columns)
            _check_answer(con, table, sql)
        except (ValueError, RecursionError, duckdb.Error) as error:
            reason = str(error).splitlines()[0]  # no row was read: it names what the condition itself says
            readable = "".join(letter if letter.isprintable() else "?" for letter in reason)
            raise InputError(f"the condition {where!r} cannot be used: {readable}", _HINT) from None
    return Condition(sql)


def without_errors(where: Condition | None) -> Condition | None:
    """Return a condition that leaves a row out where it would end in an error: a run must not depend on one row."""
    return None if where is None else Condition(f"TRY({where})")


def describe_input(
    where: str | None, columns: Mapping[str, str], reading: Mapping[str, str] | None = None
) -> list[str]:
    """Say which rows were looked at, which columns were taken for what, and how values were read.

    All may come from a file that somebody planted, so they are quoted.
    """
    said = [] if where is None else [f"only rows with {where!r} were looked at"]
    if columns:
        said.append("columns were read as " + ", ".join(f"{name!r} = {column!r}" for name, column in columns.items()))
    if reading:
        said.append("values were read with " + ", ".join(f"{name} {value!r}" for name, value in reading.items()))
    return said


def _written_anew(con: duckdb.DuckDBPyConnection, text: str) -> str:
    """Return an expression as DuckDB writes what it understood: without comments, and with all parentheses."""
    _expression(con, text)
    rows = con.execute("SELECT json_deserialize_sql(json_serialize_sql($1::VARCHAR))", [_select(text)]).fetchall()
    return str(rows[0][0]).removeprefix("SELECT ")


def _select(text: str) -> str:
    text.encode()  # raises where half of a letter is missing, which DuckDB cannot say
    return f"SELECT (\n{text}\n)"


def _expression(con: duckdb.DuckDBPyConnection, text: str) -> Json:
    """Return the tree of a text that is one expression; raise ValueError if it is anything else."""
    expressions, rest = _parse(con, text)
    if rest != _parse(con, "true")[1] or len(expressions) != 1 or expressions[0]["alias"]:
        raise ValueError("it is not one expression")
    return expressions[0]


def _parse(con: duckdb.DuckDBPyConnection, text: str) -> tuple[list[Json], Json]:
    """Return what is selected, and all else that the statements hold."""
    tree = json.loads(con.execute("SELECT json_serialize_sql($1::VARCHAR)", [_select(text)]).fetchall()[0][0])
    if tree["error"]:
        raise ValueError(tree["error_message"])
    return tree["statements"][0]["node"].pop("select_list", []), tree


def _check_parts(tree: Json, columns: Iterable[str]) -> None:
    """Raise ValueError unless all parts of an expression look at nothing but the columns of one row."""
    known = {column.lower() for column in columns}
    for part in _parts(tree):
        kind = part["class"]
        if kind not in _PARTS:
            raise ValueError(f"it holds a {kind.lower().replace('_', ' ')}")
        # DuckDB takes a name that is no column for a function without parentheses, such as current_date.
        if kind == "COLUMN_REF" and part["column_names"][0].lower() not in known:
            raise ValueError(f"there is no column {part['column_names'][0]!r}")
        if kind == "FUNCTION" and not _is_known(part):
            raise ValueError(f"conditions have no function {part['function_name']!r}")


def _check_answer(con: duckdb.DuckDBPyConnection, table: str, sql: str) -> None:
    """Raise unless an expression is true or false of a row, and no value in it is impossible, whatever the row."""
    # An Arrow table: of its own DuckDB knows that all is null, and does not evaluate what follows from that.
    schema = con.sql(f"SELECT * FROM {table} LIMIT 0").to_arrow_reader().schema
    con.register("row_of_nulls", pa.table([pa.nulls(1, kind) for kind in schema.types], schema=schema))
    answer = con.sql(f"SELECT ({sql}) FROM row_of_nulls")
    if answer.types != ["BOOLEAN"]:
        raise ValueError("it is neither true nor false of a row")
    answer.fetchall()


def _is_known(part: dict[str, Json]) -> bool:
    return part["function_name"].lower() in _FUNCTIONS and part["schema"] in ("", "main") and not part["catalog"]


def _parts(tree: Json) -> Iterator[dict[str, Json]]:
    """Yield all parts of a tree that are expressions, however deep."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if "class" in item:
                yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
