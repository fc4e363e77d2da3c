"""fv.study: methods, each k and budget, on every matrix of flows by itself."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import People, check_flows
from flowveil._options import check_flag, parse_memory, parse_min_tiles, parse_whole
from flowveil._problem import make_requirement
from flowveil._processes import cores
from flowveil._study.asking import ALL, Demands, parse_demands, parse_time_limit
from flowveil._study.comparison import MOST_SECONDS, bare
from flowveil._study.folder import open_folder
from flowveil._study.limits import Limits
from flowveil._study.measured import PARTICIPANTS
from flowveil._study.results import Study, write_results
from flowveil._study.running import Progress, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from flowveil._flows import Flows
    from flowveil._folder import Json
    from flowveil._methods import Value
    from flowveil._study.cells import Cell, Row
    from flowveil._study.folder import StudyFolder

DATA = "trips"  # what the only input is called


def study(
    flows: Flows,
    path: str | Path,
    methods: str | Sequence[str] = ALL,
    k: int | str | Sequence[int] | None = None,
    *,
    max_suppression: float | str | Sequence[float] | None = None,
    protect: str | Sequence[str] = PARTICIPANTS,
    reference: str | None = None,
    min_tiles: int = 1,
    elsewhere: bool = False,
    remainders: bool = False,
    epsilon: str | Sequence[float] | None = None,
    options: Mapping[str, Mapping[str, Value]] | Sequence[str] | None = None,
    least_trips: int = 1,
    sample: int | None = None,
    time_limit: float = MOST_SECONDS,
    memory_limit: str | int | None = None,
    processes: int | None = None,
    overwrite: bool = False,
    watch: Callable[[Progress], None] | None = None,
) -> Study:
    """Run methods on every matrix of flows, in all combinations of k, budget and protection, and write a folder.

    Each step of time and group is a matrix, solved and measured by itself, also by methods with rectangles, which
    cannot be released by time. Each combination runs in a process of its own and is kept when it is done: called again
    with the same arguments, a study that was killed goes on where it stopped. What it writes is private.

    flows: what `build_flows` returns. path: the folder to write, or to go on with.
    methods: names, or "all" for every method that promises k-anonymity. k: one or several.
    max_suppression: budgets, for the methods that can steer them.
    protect: "participants" (k persons), "population" (people they stand for, k times the mean weight), "both".
    reference: the method that others are held against (default: the first).
    epsilon: run `laplace` too, with these. options: by method, its options.
    least_trips: leave out matrices with fewer. sample: of the others, draw so many, always the same.
    time_limit, memory_limit: of a process for one matrix; what passes them is a row that says so.
    processes: how many run at once (default: one a core). overwrite: begin anew where other settings were.
    watch: hears how far it is, some times a second.
    min_tiles, elsewhere, remainders: as for `compare`.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", by="sex")
    >>> fv.study(flows, "study", "suppression", k=[2, 5]).column_names[:3]
    ['data', 'matrix', 'sex']
    """
    asked, limits = parse_study(
        methods,
        k,
        max_suppression=max_suppression,
        protect=protect,
        reference=reference,
        min_tiles=min_tiles,
        elsewhere=elsewhere,
        remainders=remainders,
        epsilon=epsilon,
        options=options,
        time_limit=time_limit,
        memory_limit=memory_limit,
    )
    if not asked.methods:
        raise InputError("there is no method to study", 'name some, or "all"')
    matrices = choose_matrices(check_flows(flows), least_trips, sample)
    for least in asked.k:
        make_requirement(flows, least, None if asked.protect == [PARTICIPANTS] else "auto", min_tiles)
    sent = bare(flows)
    settings: dict[str, Json] = {
        "software": version("flowveil"),
        "input": fingerprint(flows),
        "matrices": [number for number, _ in matrices],
        "demands": {**asked._asdict(), "common": asked.common},
        "limits": [str(limits.seconds), limits.memory],
        "reference": reference,
    }
    cells = asked.cells(DATA, matrices)
    used = parse_processes(processes)
    with open_folder(path, settings, overwrite=check_flag(overwrite, "overwrite")) as folder:
        rows = run_kept(cells, folder, Run(lambda _: sent, folder.keep, limits, used, watch=watch), Progress(0))
        return write_results(folder, rows, reference or asked.methods[0])


def parse_study(
    methods: str | Sequence[str] = ALL,
    k: object = None,
    *,
    max_suppression: object = None,
    protect: object = PARTICIPANTS,
    reference: str | None = None,
    min_tiles: int = 1,
    elsewhere: bool = False,
    remainders: bool = False,
    epsilon: object = None,
    options: Mapping[str, Mapping[str, Value]] | Sequence[str] | None = None,
    time_limit: float = MOST_SECONDS,
    memory_limit: str | int | None = None,
) -> tuple[Demands, Limits]:
    """Return what is studied and under which limits, or raise on what no flows could fulfill."""
    common = {"min_tiles": parse_min_tiles(min_tiles), "elsewhere": check_flag(elsewhere, "elsewhere")}
    asked = parse_demands(
        methods,
        k,
        max_suppression,
        protect,
        epsilon,
        options,
        common=common,
        remainders=check_flag(remainders, "remainders"),
    )
    if reference is not None and reference not in asked.methods:
        raise InputError(f"the reference {reference!r} is not studied", "add it to the methods, or name one of them")
    memory = None if memory_limit is None else parse_memory(memory_limit, "--memory-limit")
    return asked, Limits(parse_time_limit(time_limit), memory)


def parse_processes(value: object) -> int:
    """Return how many processes run at once."""
    return cores() if value is None else parse_whole(value, "processes", "it is a whole number, 1 or more")


def choose_matrices(flows: Flows, least_trips: int = 1, sample: int | None = None) -> list[tuple[int | None, Row]]:
    """Return numbers of matrices, with what tells each apart; a sample is drawn at random, always the same."""
    least = parse_whole(least_trips, "least_trips", "it is a whole number, 1 or more")
    trips = np.add.reduceat(flows.trips, flows.edges[:-1]) if len(flows) else np.zeros(0, np.int64)
    chosen = np.flatnonzero(trips >= least)
    if not len(chosen):
        raise InputError(f"no matrix has {least:,} trips", "lower --least-trips, or take larger steps of time")
    if sample is not None:
        most = parse_whole(sample, "sample", "it is a whole number, 1 or more")
        chosen = np.sort(np.random.default_rng(0).permutation(chosen)[:most])
    keys = flows.matrices.to_pylist() or [{}]
    matrices: list[tuple[int | None, Row]] = []
    for number in chosen.tolist():
        told: Row = {name: str(value) for name, value in keys[number].items()}
        matrices.append((number, {"matrix": number} | told | {"matrix_trips": int(trips[number])}))
    return matrices


def fingerprint(flows: Flows) -> str:
    """Return by what flows are known again: a hash of places, trips, persons and weights by pair of tiles."""
    digest = hashlib.sha256()
    people = flows.people
    more = [people.pair, people.person, people.weight] if isinstance(people, People) else []
    for array in (
        *(flows.origins.key, flows.destinations.key, flows.origins.parent, flows.destinations.parent),
        *(flows.origin, flows.destination, flows.trips, flows.edges, flows.weight, *more),
    ):
        digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    digest.update(repr(flows.matrices.to_pylist()).encode())
    return digest.hexdigest()


def run_kept(cells: Sequence[Cell], folder: StudyFolder, run: Run, progress: Progress) -> list[Row]:
    """Run the cells that are not done yet, and return the rows of all in the order of cells."""
    kept = {cell.name: folder.kept(cell) for cell in cells}
    left = [cell for cell in cells if kept[cell.name] is None]
    calls, before = (sum(len(cell.calls) for cell in some) for some in (cells, set_apart(cells, left)))
    progress.calls += calls
    progress.done += before
    progress.before += before
    keep = run.keep

    def keep_too(cell: Cell, rows: list[Row]) -> None:
        keep(cell, rows)
        kept[cell.name] = rows

    run.keep = keep_too
    run.run(left, progress)
    return [row for cell in cells for row in kept[cell.name] or []]


def set_apart(cells: Sequence[Cell], left: Sequence[Cell]) -> list[Cell]:
    """Return the cells that are not left to do."""
    names = {cell.name for cell in left}
    return [cell for cell in cells if cell.name not in names]
