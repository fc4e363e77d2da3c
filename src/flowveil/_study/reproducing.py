"""fv.reproduce: what a paper measured, on public data or the synthetic city, beside what it reports."""

from __future__ import annotations

import itertools
import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._charts import lines_svg
from flowveil._errors import InputError
from flowveil._folder import fingerprint_files
from flowveil._options import check_flag, check_path, parse_memory
from flowveil._study.asking import parse_demands, parse_time_limit
from flowveil._study.beside import agreement, lay_beside, markdown_beside, markdown_facts, own_rows
from flowveil._study.cells import Call, Cell
from flowveil._study.comparison import MOST_SECONDS
from flowveil._study.folder import open_folder
from flowveil._study.inputs import choose_source, files_of, load
from flowveil._study.limits import Limits
from flowveil._study.other_cells import measure_gap, measure_noise, measure_paths, measure_profile
from flowveil._study.pictures import ratio_boxes, sweep
from flowveil._study.presets import find_preset
from flowveil._study.results import markdown_table, write_results
from flowveil._study.running import Progress, Run
from flowveil._study.studying import choose_matrices, parse_processes, run_kept
from flowveil._study.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._folder import Json
    from flowveil._options import Keywords
    from flowveil._processes import Message
    from flowveil._study.cells import Row
    from flowveil._study.folder import StudyFolder
    from flowveil._study.presets import Preset, Section, Table
    from flowveil._study.results import Study

ABOUT = "about.json"
_MEASURES: dict[str, Callable[[Message, Keywords, object], list[Row]]] = {
    "noise": measure_noise,
    "paths": measure_paths,
    "gap": measure_gap,
    "profile": measure_profile,
}
_GIGABYTE = 1e9


def reproduce(
    preset: str,
    path: str | Path,
    *,
    data: str | Path | None = None,
    small: bool = False,
    time_limit: float = MOST_SECONDS,
    memory_limit: str | int | None = None,
    processes: int | None = None,
    overwrite: bool = False,
    watch: Callable[[Progress], None] | None = None,
) -> Study:
    """Run what a table or figure of a paper shows, and write our figures beside the paper's to a private folder.

    preset: its name, e.g. "atg-table3". path: the folder to write, or to go on with.
    data: a folder with the public data that the preset names; without, or where a file is missing, the synthetic city.
    small: a size that takes a second, of the synthetic city, to see that it runs.
    time_limit, memory_limit, processes, overwrite, watch: as for `study`.

    >>> study = fv.reproduce("knapsack-table1", "reproduced", small=True, processes=1)
    >>> sorted(set(study["method"].to_pylist()))[0]
    'knapsack'
    """
    limits = Limits(
        parse_time_limit(time_limit), None if memory_limit is None else parse_memory(memory_limit, "--memory-limit")
    )
    run = Run(lambda _: None, lambda *_: None, limits, parse_processes(processes), watch=watch)
    return run_preset(preset, path, run, data=data, small=check_flag(small, "small"), overwrite=overwrite)


def run_preset(
    name: str,
    path: str | Path,
    run: Run,
    *,
    data: str | Path | None = None,
    small: bool = False,
    overwrite: bool = False,
) -> Study:
    """Run a preset as `run` says, and write its folder."""
    preset, wanted = find_preset(name)
    home = None if data is None else Path(check_path(data, "data"))
    if home is not None and not home.is_dir():
        raise InputError(f"there is no folder {str(data)!r}", "give the folder that holds the public data")
    sources = {each: choose_source(preset.data[each], home, small=small) for each in preset.needed(wanted)}
    files = sorted(
        {str(home / file) for _, source in sources.values() for file in files_of(source) if home is not None}
    )
    settings: dict[str, Json] = {
        "software": version("flowveil"),
        "preset": preset.text,
        "wanted": [table.name for table in wanted],
        "small": small,
        "input": fingerprint_files(files),
        "limits": [str(run.limits.seconds), run.limits.memory],
    }
    with open_folder(path, settings, overwrite=overwrite) as folder:
        rows: list[Row] = []
        progress = Progress(0)
        for each, (_, source) in sources.items():
            input_ = load(preset.kind, preset.data[each], source, home)
            run.load, run.keep = (lambda _, input_=input_: input_), folder.keep  # type: ignore[misc]
            rows += run_kept(_cells(preset, each, source, input_, small=small), folder, run, progress)
        study = write_results(folder, rows, preset.reference)
        about = {each: f"{called} ({preset.data[each].get('like', '')})" for each, (called, _) in sources.items()}
        _write_tables(folder, preset, wanted, rows, about, small=small)
        return study


def _cells(preset: Preset, name: str, source: Section, data: Message, *, small: bool) -> list[Cell]:
    cells: list[Cell] = []
    for number, section in enumerate(preset.run):
        asked = dict(section) | (section.get("small", {}) if small else {})
        if name not in asked.get("data", [name]):
            continue
        if preset.kind == "flows":
            matrices = choose_matrices(data, source.get("least_trips", 1), source.get("sample"))
            cells += [_called(cell, asked, number) for cell in _demands(asked).cells(name, matrices)]
        else:
            cells += _others(preset.kind, name, asked, number)
    return cells


def _demands(asked: Section) -> Message:
    return parse_demands(
        asked["methods"],
        asked.get("k"),
        asked.get("max_suppression"),
        asked.get("protect", ["participants"]),
        asked.get("epsilon"),
        asked.get("options"),
        common={"elsewhere": asked.get("elsewhere", False)},
        remainders=asked.get("remainders", False),
    )


def _called(cell: Cell, asked: Section, number: int) -> Cell:
    """Return a cell whose method goes by the name that a paper gives it."""
    named = asked.get("called", {})
    calls = [Call(keys | {"method": named.get(keys["method"], keys["method"])}, job) for keys, job in cell.calls]
    return cell._replace(name=f"{cell.name}_{number}", calls=calls)


def _others(kind: str, name: str, asked: Section, number: int) -> list[Cell]:
    """Return one cell for each combination of what is listed under `each`."""
    each = asked.get("each", {})
    cells = []
    for values in itertools.product(*each.values()):
        keys: Row = dict(zip(each, values, strict=True))
        job = {"options": {}} | {key: value for key, value in asked.items() if key not in ("each", "small")} | keys
        named = asked.get("called", {}).get(job.get("method"))
        told: Row = {"data": name} | keys | ({"method": named or job.get("method")})
        parts = [name, *map(str, keys.values()), str(job.get("method")), str(number)]
        cells.append(Cell("_".join(parts), name, _MEASURES[kind], [Call(told, job)]))
    return cells


def _write_tables(
    folder: StudyFolder,
    preset: Preset,
    wanted: Sequence[Table],
    rows: list[Row],
    sources: dict[str, str],
    *,
    small: bool,
) -> None:
    """Write for each table our figures beside the paper's, as CSV, Parquet and Markdown, and its chart."""
    folder.write_text(
        json.dumps({"preset": preset.name, "small": small, "data": sources, **about_machine()}, indent=2) + "\n", ABOUT
    )
    for table in wanted:
        lines = lay_beside(table, rows)
        folder.write_table(table_of(lines), table.name)
        folder.write_text(document(preset, table, lines, sources), f"{table.name}.md")
        if table.chart:
            folder.write_text(chart(table, rows, preset.reference), f"{table.name}.svg")


def document(preset: Preset, table: Table, lines: Sequence[Row], sources: dict[str, str]) -> str:
    """Return a table of ours beside the paper's as Markdown, with what agrees and why the rest does not."""
    head, body = markdown_beside(table, lines)
    used = [f"`{name}`: {told}" for name, told in sources.items() if not table.data or name in table.data]
    told = agreement(table, lines, preset.reference)
    parts = [
        f"### {table.name}",
        f"{table.title}",
        "Data here: " + "; ".join(used) + ".",
        markdown_table(head, body, len(table.rows)) if body else "",
    ]
    if facts := markdown_facts(lines):
        parts.append(markdown_table(["what the paper says", "here", "paper"], facts))
    if told:
        parts.append("".join(f"- {sentence}\n" for sentence in told))
    if table.notes:
        parts.append("".join(f"- {sentence}\n" for sentence in table.notes))
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def chart(table: Table, rows: Sequence[Row], reference: str | None) -> str:
    """Return the picture of a table as SVG."""
    asked = table.chart
    some = own_rows(table, rows)
    if asked["kind"] == "ratios":
        return ratio_boxes(some, str(reference))
    if asked["kind"] == "profile":
        return _profile_chart(table, some)
    lines = sweep(some, asked["across"], asked["up"], asked.get("series", "method"))
    logarithmic = (bool(asked.get("log_across")), bool(asked.get("log_up", True)))
    return lines_svg(table.name, (asked["across_label"], asked["up_label"]), lines, logarithmic)


def _profile_chart(table: Table, rows: Sequence[Row]) -> str:
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for kind in ("true", "reconstructed"):
            value = float(row[kind] or 0)
            lines.setdefault(f"{row['pair']}, {kind}", []).append((float(row["matrix"] or 0), value))
    return lines_svg(table.name, ("hour of the week", "trips"), lines, (False, False))


def about_machine() -> dict[str, Json]:
    """Return when and where something was measured: date, versions, cores and memory."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "flowveil": version("flowveil"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "cores": os.cpu_count(),
        "memory_gb": round(pages / _GIGABYTE),
    }
