"""From trajectories to synthetic ones under differential privacy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._options import parse_description, parse_epsilon, parse_whole, weak_epsilon
from flowveil._register import NOISE, NewEntry, check_account, look
from flowveil._synthesis.clock import parse_days
from flowveil._synthesis.drawing import draw_paths
from flowveil._synthesis.habits import make_habits
from flowveil._synthesis.manifest import make_manifest
from flowveil._synthesis.model import learn
from flowveil._synthesis.parts import UNITS
from flowveil._synthesis.paths import paths_within
from flowveil._synthesis.release import SyntheticRelease, make_tables
from flowveil._trajectories import Trajectories, as_trajectories, read_whoever

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from flowveil._engine import Readable
    from flowveil._folder import Audit
    from flowveil._noise import Ledger
    from flowveil._options import DescriptionOptions, Keywords

AUDIT_FORMAT = "flowveil-audit/1"
_OTHER_DAYS = "of other days"
_NOBODY = (
    "no sample is of these days in this box (check --days, --bbox, --columns and --time-format): all is noise, and "
    "that is private"
)


def synthesize(
    source: Trajectories | Readable,
    epsilon: float = 1.0,
    *,
    days: str | None,
    bbox: str | Iterable[float] | None = None,
    timezone: str | None = None,
    step: str = "100m,1min",
    min_samples: int = 1,
    users: int | None = None,
    seed: int | None = None,
    towers: Readable | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    memory: str | int | None = None,
    register: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **description: Unpack[DescriptionOptions],
) -> SyntheticRelease:
    """Learn how users move at epsilon for a whole user, and draw synthetic trajectories from that, and nothing else.

    source: what `read_trajectories` takes or returns. epsilon: how much the presence of one user, with all samples,
    may change what is released. days: the first and the last day, e.g. "2024-03-04,2024-03-17"; bbox: in degrees: both
    are published, so take public ones, never those of the data. Samples outside are left out and counted. That
    nobody is there, or that a condition fails on a row, is no error: either would tell of single users.
    timezone: where days begin and nights are, by default UTC. step: edge of a cell and step of time.
    users: how many to draw; by default as many as the data has, with noise. seed: draw the same ones from the same
    noisy counts; what is learned has other noise each time.
    register: a private file that adds up the epsilons of all releases of a source; `write` enters this one.
    min_samples, towers, columns, where, memory: as for `read_trajectories`. tell: hears what is being done.
    description: what is published with it, as for `anonymize`.

    >>> box = fv.synthetic.PHONES_BBOX
    >>> release = fv.trajectories.synthesize("samples.parquet", 10, bbox=box, days="2024-03-04,2024-03-17", users=5)
    >>> sorted(set(release.samples["user"].to_pylist()))
    [0, 1, 2, 3, 4]
    """
    epsilon = parse_epsilon(epsilon)
    period = parse_days(days, timezone)
    typed = {} if users is None else {"users": parse_drawn(users)}
    typed |= {} if seed is None else {"seed": parse_seed(seed)}
    said = parse_description(description, has_unit=True)
    if memory is not None and isinstance(source, Trajectories):
        raise InputError("memory was given, but these trajectories are read already", "tell read_trajectories")
    tell("reading")
    asked: Keywords = {"columns": columns, "where": where, "step": step, "min_samples": min_samples, "towers": towers}
    if isinstance(source, Trajectories):
        trajectories = as_trajectories(source, bbox, memory, **asked)
    else:
        trajectories = read_whoever(source, bbox, memory, **asked)
    if trajectories.cut_into is not None:
        raise InputError(
            "these trajectories are cut, and what is protected here is a whole user", "read them without cut_into"
        )
    paths, other_days = paths_within(trajectories, period)
    rows = int(trajectories.rows.sum()) - other_days
    entry = None if register is None else _check_register(register, epsilon, rows)
    tell("learning")
    model, ledger = learn(paths, trajectories.grid, period, epsilon)
    if ledger.largest_path() * UNITS > epsilon:
        raise PromiseError(f"more than epsilon = {epsilon:g} was spent", "please report this bug")
    if make_habits(model).users < 1 and users is None:
        raise PromiseError(
            "with the noise of this epsilon nobody is left to draw", "raise epsilon, or say how many with --users"
        )
    tell("drawing")
    tables = make_tables(model, draw_paths(model, typed.get("users"), typed.get("seed")))
    manifest = make_manifest(model, ledger, epsilon, {"min_samples": trajectories.min_samples, **typed}, said)
    dropped = {**trajectories.dropped, **({_OTHER_DAYS: other_days} if other_days else {})}
    audit = _audit(trajectories, ledger, dropped, rows, len(np.unique(paths.user)))
    audit["notes"] += [f"{other_days:,} rows dropped: {_OTHER_DAYS}"] if other_days else []
    audit["notes"] += [] if len(paths.user) else [_NOBODY]
    audit["notes"] += [] if (warning := weak_epsilon(epsilon)) is None else [warning]
    if entry is not None:
        entry = replace(entry, promise=dict(manifest["promise"]), period=said.get("period"))
    return SyntheticRelease(tables, manifest, audit, entry)


def parse_drawn(value: object) -> int:
    """Return how many users are drawn, or raise."""
    return parse_whole(value, "the number of users to draw", "give --users 1 or more")


def parse_seed(value: object) -> int:
    """Return a seed, or raise."""
    return parse_whole(value, "seed", "a seed is a whole number, 0 or more", 0)


def _check_register(path: str | Path, epsilon: float, rows: int) -> NewEntry:
    """Raise if so much more may not be spent; return what will be entered."""
    with look(path) as opened:
        check_account(opened, epsilon, {"unit": "user"})
        return NewEntry(opened.path, opened.last, NOISE, {}, None, rows)


def _audit(trajectories: Trajectories, ledger: Ledger, dropped: dict[str, int], rows: int, users: int) -> Audit:
    return {
        "format": AUDIT_FORMAT,
        "input": trajectories.story,
        "rows": rows,
        "dropped": dropped,
        "users": users,
        "ledger": [{"spend": spend.name, "epsilon_per_user": spend.epsilon * UNITS} for spend in ledger.spends],
        "notes": list(trajectories.notes),
    }
