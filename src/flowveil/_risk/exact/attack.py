"""The exact attacker: everything published as equations over hidden trips, and what follows from them for certain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from flowveil._equations import Bounds, find_told, list_figures, reduce_equations
from flowveil._folder import AREAS, Kind, most_error, read_files
from flowveil._risk.exact.layers import read_layers
from flowveil._risk.exact.margins import margin_layers
from flowveil._risk.exact.painting import find_atoms
from flowveil._risk.exact.persons import Persons
from flowveil._risk.finding import BREAKS, HOLDS, TELLS, Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._equations import Block, Figures, Told
    from flowveil._folder import Files, Json
    from flowveil._risk.case import Case
    from flowveil._risk.exact.layers import Layer

NAME = "exact"
LOWER_BOUND = "lower-bound"
_MOST_EXAMPLES = 10


class _Known(NamedTuple):
    """All that is known."""

    releases: list[Files]
    layers: list[Layer]
    left_out: list[str]  # what could not be laid over the release, and why
    given: int  # the first of the figures that are no news, numbered through


def find_exact(case: Case) -> Finding | None:
    """Find groups of 1 to k - 1 trips that follow from all that is published, and narrow intervals."""
    if case.files.manifest["promise"].get("volumes") not in {"exact", LOWER_BOUND}:
        return None  # numbers were rounded or changed: they are no sums of trips
    known = _gather(case)
    k = min(int(files.manifest["promise"]["k"]) for files in known.releases)
    if k < 2:
        return None  # nobody is fewer than one
    narrow = case.narrow or k
    atoms = find_atoms(known.layers, _resolution(known.releases[0]))
    figures = list_figures([layer.trips for layer in known.layers], atoms)
    blocks = reduce_equations(figures)
    told, solved = _solve(blocks, figures, known.given, k, narrow)
    return _finding(known, figures, len(atoms), told, solved, k, narrow)


def _gather(case: Case) -> _Known:
    """Read the release, those beside it and the table, and lay over each other what can be."""
    files = case.files
    releases, left_out = [files], []
    layers = read_layers(files, case.folder.name)
    alone = _alone(files)
    for folder in case.beside:
        other = read_files(folder)
        reason = alone or _apart(files, other)
        if reason is None:
            releases.append(other)
            layers += read_layers(other, folder.name)
        else:
            left_out.append(f"{folder.name} ({reason})")
    given = sum(map(len, layers))
    if case.margins is not None:
        if alone is None:
            layers += margin_layers(case.margins, releases)
        else:
            left_out.append(f"the table ({alone})")
    return _Known(releases, layers, left_out, given)


def _alone(files: Files) -> str | None:
    """Return why nothing can be laid over a release of flows, None if it can."""
    promise = files.manifest["promise"]
    if "shapes" in promise:
        return "areas are rectangles of degrees"
    if most_error(promise):
        return "numbers are rounded or changed"
    return "volumes are lower bounds" if promise.get("volumes") != "exact" else None


def _apart(files: Files, other: Files) -> str | None:
    """Return why a release cannot be laid over another, None if it can."""
    if other.kind is not Kind.FLOWS:
        return f"it has {other.kind.title}"
    if (reason := _alone(other)) is not None:
        return reason
    options, others = files.manifest["options"], other.manifest["options"]
    if any(options.get(name) != others.get(name) for name in ("grid", "crs")):
        return "it is on another grid"
    if options.get("bbox") != others.get("bbox"):
        return "it has another bbox"
    zones = ["members" in one.tables[AREAS].column_names for one in (files, other)]
    return "it is on another grid" if zones[0] != zones[1] else None


def _resolution(files: Files) -> int | None:
    grid = str(files.manifest["options"].get("grid", ""))
    return int(grid.removeprefix("h3:")) if grid.startswith("h3:") else None


def _solve(
    blocks: Sequence[Block], figures: Figures, given: int, k: int, narrow: int
) -> tuple[list[tuple[Block, Told]], Counter[str]]:
    """Return what blocks tell, and how many were solved in which way; equal ones are solved once."""
    before = _given_cells(blocks, figures.atoms[given:])
    known: dict[object, tuple[Told, str]] = {}
    told, solved = [], Counter[str]()
    for number, block in enumerate(blocks):
        no_news = sorted(before.get(number, ()))
        key = (block.rows, block.trips, tuple(no_news))
        if key not in known:
            bounds = Bounds(block)
            known[key] = find_told(bounds, k, narrow, no_news), bounds.how
        found, how = known[key]
        solved[how] += 1
        if any(found):
            told.append((block, found))
    return told, solved


def _given_cells(blocks: Sequence[Block], given: Sequence[IntArray]) -> dict[int, set[tuple[int, ...]]]:
    """Return by block the sets of its cells that were given as one figure of a table, by its atoms."""
    if not given:
        return {}
    place = {
        atom: (number, cell)
        for number, block in enumerate(blocks)
        for cell, atoms in enumerate(block.cells)
        for atom in atoms
    }
    sets: dict[int, set[tuple[int, ...]]] = {}
    for atoms in given:
        spots = [place[atom] for atom in atoms.tolist() if atom in place]  # the others are known to be empty
        cells = sorted(set(spots))
        number = cells[0][0] if cells else 0
        whole = sum(len(blocks[block].cells[cell]) for block, cell in cells)
        if cells and cells[-1][0] == number and whole == len(spots):
            sets.setdefault(number, set()).add(tuple(cell for _, cell in cells))
    return sets


def _finding(
    known: _Known,
    figures: Figures,
    atoms: int,
    told: Sequence[tuple[Block, Told]],
    solved: Counter[str],
    k: int,
    narrow: int,
) -> Finding:
    certain = sum(len(found.certain) for _, found in told)
    close = sum(len(found.narrow) for _, found in told)
    persons = Persons(known.layers, figures)
    shown = [(block, *found_set) for block, found in told for found_set in found.certain][:_MOST_EXAMPLES]
    examples: list[Json] = [persons.describe(*found_set) for found_set in shown]
    loose = solved["linear"]
    undecided = sum(found.undecided for _, found in told)
    verdict = BREAKS if certain else TELLS if close or undecided else HOLDS
    sentences = {
        BREAKS: f"At least {certain:,} groups of 1 to {k - 1} trips are certain for whoever adds and subtracts what is "
        "published" + (f": {examples[0]['where']} has {_range(examples[0]['trips'])}." if examples else "."),
        TELLS: f"No group of 1 to {k - 1} trips was found to be certain; {close:,} hidden parts that may have fewer "
        f"than {k} are known to within {narrow - 1}.",
        HOLDS: f"Sums and differences of all {len(figures.trips):,} figures tell of no group of 1 to {k - 1} trips.",
    }
    sentence = sentences[verdict]
    if loose:
        sentence += f" In {loose:,} parts that hang together fractions of trips were allowed: more may follow there."
    if undecided:
        sentence += f" {undecided:,} questions about hidden parts were left open: they would take too long."
    if known.left_out:
        sentence += f" Not laid over the release: {', '.join(known.left_out)}."
    return Finding(
        NAME,
        certain,
        f"groups of 1 to {k - 1} trips that are certain",
        verdict,
        sentence,
        "Do not publish these together: withhold one of the figures, or make the release with --beside the other."
        if certain
        else "",
        {"k": k, "narrow": narrow},
        {
            "figures": len(figures.trips),
            "atoms": atoms,
            "blocks": dict(sorted(solved.items())),
            "narrow": close,
            "undecided": undecided,
            "examples": examples,
            "left_out": list(known.left_out),
        },
    )


def _range(trips: Sequence[int]) -> str:
    return f"{trips[0]}" if trips[0] == trips[1] else f"{trips[0]} to {trips[1]}"
