"""Reading trajectories and snapping them to the grid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from flowveil._engine import ReadingOptions, fingerprint, without_errors
from flowveil._errors import InputError
from flowveil._options import parse_memory, parse_whole, shown
from flowveil._trajectories.grid import DEFAULT_CAPS, DEFAULT_STEP, DEFAULT_WEIGHTS, Grid, make_grid
from flowveil._trajectories.periods import first_days, parse_periods
from flowveil._trips import open_samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._engine import Readable, Samples
    from flowveil._folder import AuditInput, Json, Remembered
    from flowveil._trips import SampleSource

_OUTSIDE = "outside the bbox"
_NO_TIME = "null time"  # as the engine calls it, and a time that cannot be read


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Samples on a grid, by user, each user's in the order of time, then place; a cell and step counts once.

    >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
    >>> len(data), data.users[0]
    (20, 'u000000')
    """

    grid: Grid
    users: tuple[str, ...]  # ascending; the rank of a user is the place in it, of a user's period if paths are cut
    start: IntArray  # first sample of each user, and the end
    t: IntArray  # step of time
    x: IntArray  # column
    y: IntArray  # row
    rows: IntArray  # input rows of each sample
    provenance: SampleSource | None = None
    min_samples: int = 1
    dropped: dict[str, int] = field(default_factory=dict)  # input rows by reason
    short_users: int = 0
    cut_into: str | None = None  # day or week, if trajectories are cut
    timezone: str | None = None  # where these begin
    periods: IntArray | None = None  # by rank, the first day of its period, in days since 1970

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"<Trajectories of {len(self):,} users>"

    @property
    def owner(self) -> IntArray:
        """The user's rank, for each sample."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def story(self) -> AuditInput:
        """What an audit file remembers of the input."""
        provenance = self.provenance
        return {
            "columns": provenance.mapping if provenance else {},
            "where": provenance.where if provenance else None,
            "towers": provenance.towers_file if provenance else None,
            "reading": provenance.reading.typed() if provenance else {},
            "fingerprint": fingerprint(provenance.source if provenance else None),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, in words."""
        notes = [] if self.provenance is None else list(self.provenance.assumed)
        notes += [f"{count:,} rows dropped: {reason}" for reason, count in self.dropped.items()]
        if self.short_users:
            whose = "users" if self.cut_into is None else f"users' {self.cut_into}s"
            notes.append(f"{self.short_users:,} {whose} with fewer than {self.min_samples} samples dropped")
        return tuple(notes)


def read_trajectories(
    source: Readable,
    bbox: str | Iterable[float] | None,
    *,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    step: str = DEFAULT_STEP,
    caps: str = DEFAULT_CAPS,
    weights: str = DEFAULT_WEIGHTS,
    min_samples: int = 1,
    cut_into: str | None = None,
    timezone: str | None = None,
    towers: Readable | None = None,
    memory: str | int | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    time_format: str | None = None,
    input_crs: str | None = None,
) -> Trajectories:
    """Read trajectories from a file, a glob of files or a table, and snap them to the grid.

    bbox: west, south, east, north in degrees: a public box; samples outside are dropped and counted.
    columns: maps user, lon, lat and time to other column names. where: a DuckDB condition.
    step: edge of a cell and step of time, e.g. "100m,1min". min_samples: users with fewer rows are dropped.
    caps: the stretch in space and time at which a sample says nothing any more. weights: of space and time against
    each other, whole numbers.
    cut_into: "day" or "week": each of a user's is a trajectory of its own, from midnight (Monday) in the timezone, by
    default UTC; min_samples then counts rows of each.
    towers: a table or file of towers (tower, lon, lat), for samples that name a tower in place of coordinates.
    source: anything that `read_trips` takes, but with samples, or a folder of cab files.
    memory: what may be used, e.g. "2GB", or in bytes.
    encoding, decimal, time_format, input_crs: how the samples are written, as for `read_trips`.

    >>> box = fv.synthetic.PHONES_BBOX
    >>> data = fv.trajectories.read_trajectories("samples.parquet", box, step="1km,30min", min_samples=10)
    >>> len(data), int(data.rows.sum())
    (20, 2400)
    """
    grid = make_grid(bbox, step, caps, weights)
    min_samples = parse_min_samples(min_samples)
    allowed = None if memory is None else parse_memory(memory)
    periods = parse_periods(cut_into, timezone)
    reading = ReadingOptions(encoding=encoding, decimal=decimal, time_format=time_format, input_crs=input_crs)
    provenance = open_samples(source, columns, where, towers=towers, reading=reading)
    found = snap(provenance.read(allowed), grid, min_samples, provenance, periods)
    if not len(found):
        raise _nobody(found.dropped)
    return found


def read_whoever(
    source: Readable,
    bbox: str | Iterable[float] | None,
    memory: str | int | None = None,
    *,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    step: str = DEFAULT_STEP,
    min_samples: int = 1,
    towers: Readable | None = None,
    **written: Unpack[ReadingOptions],
) -> Trajectories:
    """Read trajectories of whole users for a release with noise, which must not fail where one user decides it.

    That nobody is left is no error, and a row on which the condition fails is left out. Options: as for
    `read_trajectories`.
    """
    grid = make_grid(bbox, step, DEFAULT_CAPS, DEFAULT_WEIGHTS)
    min_samples = parse_min_samples(min_samples)
    allowed = None if memory is None else parse_memory(memory)
    provenance = open_samples(source, columns, where, towers=towers, reading=written)
    tolerant = replace(provenance, where=without_errors(provenance.where))
    return snap(tolerant.read(allowed), grid, min_samples, provenance)


class ReadOptions(TypedDict, total=False):
    """What `read_trajectories` may be told, but for the box and memory."""

    columns: str | Mapping[str, str] | None
    where: str | None
    step: str
    caps: str
    weights: str
    min_samples: int
    cut_into: str | None
    timezone: str | None
    towers: Readable | None


_DEFAULTS = {"step": DEFAULT_STEP, "caps": DEFAULT_CAPS, "weights": DEFAULT_WEIGHTS, "min_samples": 1}


def as_trajectories(
    source: Trajectories | Readable,
    bbox: str | Iterable[float] | None,
    memory: str | int | None,
    **options: Unpack[ReadOptions],
) -> Trajectories:
    """Return trajectories as they are, or read them; raise if something is asked of reading that was done already."""
    if not isinstance(source, Trajectories):
        return read_trajectories(source, bbox, memory=memory, **options)
    for name, value in {"bbox": bbox, **options}.items():
        if value != _DEFAULTS.get(name):
            raise InputError(f"{name} was given, but these trajectories are read already", "tell read_trajectories")
    return source


def read_again(
    source: Readable,
    options: Mapping[str, Json],
    story: Remembered,
    columns: str | Mapping[str, str] | None,
    where: str | None,
    towers: Readable | None,
) -> Trajectories:
    """Return the trajectories that a release was made from, by the options of its manifest and what its audit tells."""
    return read_trajectories(
        source,
        options["bbox"],
        columns=columns or story.columns,
        where=where or story.where,
        towers=story.towers if towers is None else towers,
        step=options["step"],
        caps=options.get("caps", DEFAULT_CAPS),
        weights=options.get("weights", DEFAULT_WEIGHTS),
        min_samples=options["min_samples"],
        cut_into=options.get("cut_into"),
        timezone=options.get("timezone") if options.get("cut_into") else None,
        **story.reading,
    )


def check_trajectories(value: object) -> Trajectories:
    """Return trajectories, or raise if these are none."""
    if not isinstance(value, Trajectories):
        raise InputError(f"trajectories are {shown(value)}", "make them of samples with read_trajectories")
    return value


def parse_min_samples(value: object) -> int:
    """Return how many samples a user must have."""
    return parse_whole(value, "min_samples, the least number of samples,", "give --min-samples 1 or more")


def snap(
    samples: Samples,
    grid: Grid,
    min_samples: int = 1,
    provenance: SampleSource | None = None,
    periods: tuple[str | None, str | None] = (None, None),
) -> Trajectories:
    """Put samples on the grid: those in the box, of users (and periods) who have enough of them; maybe of nobody."""
    samples, first = _cut(samples, *periods)
    west, south, east, north = grid.bbox
    inside = (samples.lon >= west) & (samples.lon <= east) & (samples.lat >= south) & (samples.lat <= north)
    enough = np.bincount(samples.user[inside], minlength=len(samples.users)) >= min_samples
    kept = inside & enough[samples.user] if len(samples.user) else inside
    users, table, rows = _sorted_samples(samples, grid, kept)
    dropped = dict(samples.dropped)
    if outside := int((~inside).sum()):
        dropped[_OUTSIDE] = outside
    return Trajectories(
        grid=grid,
        users=tuple(samples.users[user] for user in users.tolist()),
        start=np.concatenate([np.searchsorted(table[0], users), [len(rows)]]).astype(np.int64),
        t=table[1],
        x=table[2],
        y=table[3],
        rows=rows,
        provenance=provenance,
        min_samples=min_samples,
        dropped=dropped,
        short_users=len(samples.users) - len(users),
        cut_into=periods[0],
        timezone=periods[1],
        periods=None if first is None else first[users],
    )


def _nobody(dropped: dict[str, int]) -> InputError:
    """Return an error that says why no user is left; dropped: rows by reason."""
    told = "; ".join(f"{count:,} rows dropped: {reason}" for reason, count in dropped.items())
    hint = "check --bbox, --min-samples and --columns (are longitude and latitude exchanged?)"
    if _NO_TIME in dropped:
        hint += ", and --time-format where times are not written like 2024-05-17 08:30:00"
    return InputError(f"no user has enough samples to be used{told and f' ({told})'}", hint)


def _cut(samples: Samples, cut_into: str | None, timezone: str | None) -> tuple[Samples, IntArray | None]:
    """Return samples with a user for each period of a user, and by these its first day; None if nothing is cut."""
    if cut_into is None or timezone is None:
        return samples, None
    pairs = np.stack([samples.user, first_days(samples.time, cut_into, timezone)])
    distinct, number = np.unique(pairs, axis=1, return_inverse=True)
    users = tuple(samples.users[user] for user in distinct[0].tolist())
    return replace(samples, users=users, user=number.ravel()), distinct[1]


def _sorted_samples(samples: Samples, grid: Grid, kept: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return users, (user, t, x, y) of distinct samples in this order, and the rows of each."""
    x, y = grid.cells(samples.lon[kept], samples.lat[kept])
    table = np.stack([samples.user[kept], grid.steps(samples.time[kept]), x, y])
    table = table[:, np.lexsort(table[::-1])]
    new = np.ones(table.shape[1], np.bool_)
    new[1:] = (table[:, 1:] != table[:, :-1]).any(axis=0)
    first = np.flatnonzero(new)
    rows = np.diff(np.append(first, table.shape[1]))
    table = table[:, first]
    return np.unique(table[0]), table, rows
