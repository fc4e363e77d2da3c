"""What a study comes to: a table that draws itself, means, a document and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowveil._charts import PRIVATE, DrawnTable, table_html
from flowveil._study.cells import DONE
from flowveil._study.folder import DOCUMENT, SUMMARY, TABLE
from flowveil._study.pictures import pictures
from flowveil._study.table import shown
from flowveil._study.tables import COMBINATION, summarize, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from flowveil._study.cells import Row
    from flowveil._study.folder import StudyFolder

_SHOWN = ("gbar", "e", "d", "gdm_mean", "suppressed", "seconds")


@dataclass(frozen=True, eq=False, repr=False)
class Study(DrawnTable):
    """One row for each combination and matrix, as a table; private, like all metrics.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", by="sex")
    >>> study = fv.study(flows, "study", "suppression", k=[2, 5])
    >>> len(study), study["k"].to_pylist()
    (4, [2, 2, 5, 5])
    """

    table: pa.Table
    reference: str | None = None

    def __repr__(self) -> str:
        return f"<Study: {len(self):,} rows>"

    def _repr_html_(self) -> str:
        """Show means in a notebook. Private."""
        head, *rows = mean_table(self.table.to_pylist())
        return table_html("Means over matrices", head, rows, PRIVATE)

    def summary(self) -> pa.Table:
        """Return mean, total, quartiles and ratios to the reference for each combination and figure.

        >>> flows = fv.build_flows("trips.parquet", "h3:7", by="sex")
        >>> fv.study(flows, "study", "suppression", k=[2, 5]).summary()["figure"].to_pylist()[0]
        'matrix_trips'
        """
        return table_of(summarize(self.table.to_pylist(), self.reference))


def write_results(folder: StudyFolder, rows: list[Row], reference: str | None) -> Study:
    """Write tables, a document and pictures, and return the study."""
    result = Study(table_of([row | {"note": row.get("note", "")} for row in rows]), reference)
    folder.write_table(result.table, TABLE)
    folder.write_table(result.summary(), SUMMARY)
    head, *lines = mean_table(rows)
    text = f"# Study\n\nPrivate: computed from true trips. Means over matrices; ratios are in {SUMMARY}.csv.\n\n"
    folder.write_text(text + markdown_table(head, lines), DOCUMENT)
    for name, picture in pictures(rows, reference).items():
        folder.write_text(picture, name)
    return result


def mean_table(rows: Sequence[Row]) -> list[list[str]]:
    """Return a heading and one line a combination: its keys, how many matrices were done, and means."""
    summary = summarize(rows, None)
    keys = [name for name in COMBINATION if len({row.get(name) for row in rows}) > 1 or name == "method"]
    every = list(dict.fromkeys(tuple(row.get(name) for name in keys) for row in rows))
    means: dict[tuple[object, ...], dict[str, float]] = {}
    for row in summary:
        means.setdefault(tuple(row.get(name) for name in keys), {})[str(row["figure"])] = float(row["mean"] or 0)
    names = [name for name in _SHOWN if any(name in figures for figures in means.values())]
    lines = [[*keys, "done", *names]]
    for key in every:
        some = [row for row in rows if tuple(row.get(name) for name in keys) == key]
        done = sum(row.get("status") == DONE for row in some)
        figures = means.get(key, {})
        texts = ["" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in key]
        lines.append([*texts, f"{done} of {len(some)}", *(shown(name, figures.get(name)) for name in names)])
    return lines


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Return a Markdown table; the first columns are texts, the others are numbers."""
    lines = [list(head), [*["---"] * texts, *["---:"] * (len(head) - texts)], *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)
