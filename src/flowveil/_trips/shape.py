"""From a source as it is to one with the columns that trips need: by its layout, or as a matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flowveil import _engine as engine
from flowveil._errors import InputError, UnknownNameError
from flowveil._trips.columns import COORDINATES, ZONES, recognize
from flowveil._trips.known_layouts import MATRIX, find_layout, layouts, match_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._trips.known_layouts import Layout

_NAMED = 0.5  # share of the columns of a matrix that also name a row


def choose_layout(
    source: engine.Source, available: Sequence[str], mapping: Mapping[str, str], reading: engine.Reading
) -> Layout | None:
    """Return the layout that the user named, or that the columns tell, or None."""
    if reading.layout is not None:
        return _named(reading.layout, available) if reading.layout else None
    if isinstance(source, engine.TableSource) and source.paths:  # of an Open Matrix file
        return MATRIX
    if (layout := find_layout(available)) is not None:
        return layout
    known = recognize(available, mapping)
    ends = (all(name in known for name in ZONES), all(name in known for name in COORDINATES))
    return None if any(ends) or mapping or not _is_matrix(source, available) else MATRIX


def _named(name: str, available: Sequence[str]) -> Layout:
    known = {layout.name: layout for layout in layouts()}
    if name not in known:
        raise UnknownNameError("layout", name, known)
    layout = known[name]
    if missing := [column for column in layout.known_by if column not in match_names(available, layout.known_by)]:
        raise InputError(
            f"the trips have no column {missing[0]!r}, which the layout {name} has",
            f"they have {', '.join(available[:20])}; see flowveil layouts",
        )
    return layout


def _is_matrix(source: engine.Source, available: Sequence[str]) -> bool:
    """Whether columns are named like rows: the first column names these."""
    first, others = available[0], available[1:]
    if len(others) < 2 or not isinstance(source, engine.FileSource | engine.TableSource):
        return False
    names = {str(name).strip() for name in engine.first_rows(source, 4 * len(available)).column(0).to_pylist()}
    return first not in names and sum(name.strip() in names for name in others) >= _NAMED * len(others)


def join_columns(
    source: engine.Source, available: tuple[str, ...], mapping: Mapping[str, str]
) -> tuple[engine.Source, tuple[str, ...]]:
    """Return a source with the time of a row in one column, if the user named two: start_time=DATE+TIME."""
    name = mapping.get("start_time", "")
    if "+" not in name or name in available:
        return source, available
    parts = tuple(part.strip() for part in name.split("+"))
    if missing := [part for part in parts if part not in available]:
        raise UnknownNameError("column", missing[0], available)
    joined = engine.Derived(name, parts, " || ' ' || ".join(f"{{{number}}}" for number in range(len(parts))))
    return replace(source, derived=(joined,)), (*available, name)


def shape(source: engine.Source, layout: Layout, available: Sequence[str], reading: engine.Reading) -> engine.Source:
    """Return a source with the columns that its layout computes."""
    is_cells = isinstance(source, engine.TableSource) and source.paths
    if layout is MATRIX and not is_cells:
        source = replace(source, wide=available[0])
        available = engine.column_names(source)
    derived = list(source.derived)
    for column in layout.derived:
        of = match_names(available, column.columns)
        sql = column.sql
        if layout is MATRIX:
            sql = f"floor({engine.number_sql('{0}', 'VARCHAR', reading.decimal)} + 0.5)"
        if column.name not in available:
            derived.append(replace(column, columns=tuple(of[name] for name in column.columns), sql=sql))
    return replace(source, derived=tuple(derived))
