"""An Excel workbook: flows, areas, the zones of each area, and what the release promises."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flowveil._errors import InputError
from flowveil._export.about import describe
from flowveil._export.comma_separated import plain_tables
from flowveil._folder import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables

_MOST_ROWS = 1_048_575  # below the header: what a sheet holds
_WIDE = 24  # characters, of every column


def write(tables: Tables, path: Path) -> int:
    """Write one sheet a table, without outlines, and a sheet `about`. Text is text, never a formula."""
    try:
        import xlsxwriter  # noqa: PLC0415  an extra
        from xlsxwriter.exceptions import FileCreateError  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError("Excel needs the package XlsxWriter", "pip install 'flowveil[export]'") from None
    sheets = {
        name: table.drop_columns(["geometry"]) if name == "areas" else table
        for name, table in plain_tables(tables).items()
    }
    for name, table in sheets.items():
        if table.num_rows > _MOST_ROWS:
            raise InputError(
                f"{name} has {table.num_rows:,} rows, and a sheet of Excel holds {_MOST_ROWS:,}", "export to csv"
            )
    about = describe(tables.manifest)
    sheets["about"] = pa.table({"what": pa.array(list(about), pa.string()), "value": list(about.values())})
    packed = BytesIO()  # the library leaves a file that it cannot write half open, and complains of it later
    try:
        with (
            scratch_folder() as room,
            xlsxwriter.Workbook(packed, {"constant_memory": True, "tmpdir": str(room)}) as book,
        ):
            bold = book.add_format({"bold": True})
            for name, table in sheets.items():
                _fill(book.add_worksheet(name), table, bold)
    except FileCreateError as error:  # of its temporary files
        raise InputError(f"the workbook cannot be written: {error}", "check that TMPDIR has room") from None
    path.write_bytes(packed.getbuffer())
    return int(tables.rows.num_rows)


def _fill(sheet: Any, table: pa.Table, bold: Any) -> None:  # Any: xlsxwriter has no types
    """Write a table to a sheet, its header in bold."""
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, table.num_columns - 1, _WIDE)
    for at, title in enumerate(table.column_names):
        sheet.write_string(0, at, title, bold)
    for number, row in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True), 1):
        for at, value in enumerate(row):
            if isinstance(value, str):
                sheet.write_string(number, at, value)
            elif isinstance(value, bool):
                sheet.write_boolean(number, at, value)
            elif value is not None:
                sheet.write_number(number, at, value)
