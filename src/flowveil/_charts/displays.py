"""What objects show in a notebook: short tables and bars as HTML, with all text escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from flowveil._arrays import ArrowTable, ChunkedColumn

PRIVATE = "Private: counted from the true trips. Clear this output before the notebook is shared."
_LEFT, _WIDTH, _ROW = 120, 260, 20  # pixels: names, longest bar, height of a bar
_CELL = "text-align:left;padding:2px 12px 2px 0"


class DrawnTable:
    """A table that draws itself: all that a pyarrow table can do goes to `table`, and Arrow reads it as one.

    pyarrow tables cannot be subclassed, so `isinstance(..., pa.Table)` is false.
    """

    table: pa.Table

    def __getattr__(self, name: str) -> Any:  # whatever a table of Arrow has
        if name.startswith("__") or name == "table":  # copying and pickling ask before there is a table
            raise AttributeError(name)
        return getattr(self.table, name)

    def __getitem__(self, key: int | str) -> ChunkedColumn:
        return self.table[key]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        stream = cast("ArrowTable", self.table)  # which the stubs leave untyped
        return stream.__arrow_c_stream__(requested_schema)


def table_html(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Return a heading, a table and a note; without names of columns it is a list of facts."""
    lines = [f"<div><b>{escape(title)}</b>", '<table style="margin:6px 0">']
    if head:
        lines.append(f"<thead><tr>{_cells('th', head)}</tr></thead>")
    lines.append("<tbody>")
    lines += [f"<tr>{_cells('td', row)}</tr>" for row in rows]
    lines.append("</tbody></table>")
    if note:
        lines.append(f"<small>{escape(note)}</small>")
    return "\n".join([*lines, "</div>"])


def _cells(kind: str, texts: Sequence[str]) -> str:
    return "".join(f'<{kind} style="{_CELL}">{escape(text)}</{kind}>' for text in texts)


def bars_svg(title: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Draw named bars with what is written beside them; the longest fills the width."""
    longest = max((value for _, value, _ in bars), default=0) or 1
    size = f'width="{_LEFT + _WIDTH + 80}" height="{_ROW * (len(bars) + 1) + 6}"'
    style = 'font-family="sans-serif" font-size="12" fill="currentColor"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" {size} {style}>']
    parts.append(f'<text x="0" y="14">{escape(title)}</text>')
    for row, (name, value, text) in enumerate(bars, 1):
        wide, top = _WIDTH * value / longest, row * _ROW + 6
        parts.append(f'<text x="{_LEFT - 8}" y="{top + 12}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{_LEFT}" y="{top + 1}" width="{wide:.1f}" height="{_ROW - 6}" fill="#0b6e99"/>')
        parts.append(f'<text x="{_LEFT + wide + 6:.1f}" y="{top + 12}">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>"])
