"""How the values of an input are written, as its user says: text, numbers, times, coordinates, matrices."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields
from typing import TypedDict

import duckdb
import pyproj

from flowveil._errors import InputError
from flowveil._options import parse_choice, parse_names, parse_text

UNIX = {"unix": 1_000_000, "unix-ms": 1_000, "unix-us": 1, "unix-ns": 0}  # microseconds of one; 0: a thousandth
EXCEL = "excel"  # days since 30 December 1899, as spreadsheets count
_TIME_HINT = "write it like strptime, e.g. '%d/%m/%Y %H:%M', or unix, unix-ms, unix-us, unix-ns or excel"


class ReadingOptions(TypedDict, total=False):
    """Options of `read_trips` on how an input is written."""

    layout: str | None
    encoding: str | None
    decimal: str | None
    time_format: str | None
    input_crs: str | None
    matrices: str | None


@dataclass(frozen=True)
class Reading:
    """What a user said of how an input is written; None where it is to be found out."""

    layout: str | None = None
    encoding: str | None = None  # of text files, as Python calls it
    decimal: str | None = None  # "," or "."
    time_format: str | None = None  # as strptime has it, one of UNIX, or EXCEL
    input_crs: str | None = None  # of coordinates; degrees of WGS 84 without it
    matrices: str | None = None  # which matrices of an Open Matrix file, with commas between them

    def typed(self) -> dict[str, str]:
        """Return what was said, by name."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def chosen(self) -> tuple[str, ...] | None:
        """The names of matrices that were chosen."""
        return None if self.matrices is None else parse_names(self.matrices, "matrices")


def parse_reading(options: ReadingOptions) -> Reading:
    """Return options on how an input is written, or raise if one of them means nothing."""
    said = Reading(**options)
    for name, value in said.typed().items():
        parse_text(value, name, {"time_format": "'%d/%m/%Y %H:%M'", "input_crs": "EPSG:2154"}.get(name, "a name"))
    if said.encoding is not None:
        _check_encoding(said.encoding)
    if said.decimal is not None:
        parse_choice(said.decimal, "sign of decimals", (",", "."))
    if said.time_format is not None:
        _check_time_format(said.time_format)
    if said.input_crs is not None:
        find_crs(said.input_crs)
    return said


def find_crs(text: str) -> pyproj.CRS:
    """Return the CRS of coordinates on a map, or raise."""
    try:
        crs = pyproj.CRS.from_user_input(parse_text(text, "input_crs", "EPSG:2154"))
    except pyproj.exceptions.ProjError:
        raise InputError(f"there is no CRS {text!r}", "name the CRS of the trips, e.g. --input-crs EPSG:2154") from None
    if not (crs.is_geographic or crs.is_projected):
        raise InputError(f"{text!r} is no CRS of places on a map", "name a projected CRS, e.g. --input-crs EPSG:2154")
    return crs


def _check_encoding(name: str) -> None:
    try:
        codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError):
        raise InputError(f"there is no encoding {name!r}", "e.g. --encoding cp1252, latin-1 or utf-16") from None


def _check_time_format(text: str) -> None:
    if text in UNIX or text == EXCEL:
        return
    problem = None if "%" in text else "it has no %"
    if problem is None:
        with duckdb.connect() as con:
            try:
                con.execute("SELECT typeof(try_strptime($1::VARCHAR, $2::VARCHAR))", ["", text]).fetchall()
            except duckdb.Error as error:
                problem = str(error).splitlines()[0].rpartition(": ")[2]
    if problem is not None:
        raise InputError(f"the time format {text!r} cannot be used: {problem}", _TIME_HINT)
