"""Releases of trajectories: made, written and read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError, PromiseError
from flowveil._folder import (
    AUDIT,
    MEMBERS,
    TRAJECTORIES,
    Audit,
    Files,
    Kind,
    Manifest,
    Values,
    check_columns,
    check_target,
    find_release,
    read_audit,
    read_files,
    write_folder,
)
from flowveil._reading import Readable
from flowveil._register import enter
from flowveil._report import choose_report, make_inline, trajectories_content
from flowveil._trajectories.grid import MICROSECONDS_PER_MINUTE
from flowveil._trajectories.known_points import check_points
from flowveil._trajectories.manifest import is_complete, make_manifest
from flowveil._trajectories.options import KM
from flowveil._trajectories.support import find_held

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._places import ZonesLike
    from flowveil._register import NewEntry
    from flowveil._trajectories.glove import Group, Grouping
    from flowveil._trajectories.read import Trajectories

_THRESHOLDS = ("max_extent", "max_duration", "min_support", "known_points")  # options that may suppress samples
_SIGN = np.uint64(1 << 63)
AUDIT_FORMAT = "flowveil-trajectories-audit/1"

_TIMES = pa.timestamp("us", tz="UTC")
_KINDS: dict[str, pa.DataType] = {
    "group": pa.int64(),
    "size": pa.int64(),
    "support": pa.int64(),
    "t0": _TIMES,
    "t1": _TIMES,
    "lon0": pa.float64(),
    "lat0": pa.float64(),
    "lon1": pa.float64(),
    "lat1": pa.float64(),
}
COLUMNS = pa.schema(_KINDS)
_MEMBER_KINDS: dict[str, pa.DataType] = {
    "user_id": pa.string(),
    "group": pa.int64(),
    "kept": pa.int64(),
    "suppressed": pa.int64(),
}
MEMBER_COLUMNS = pa.schema(_MEMBER_KINDS)


@dataclass(frozen=True, eq=False, repr=False)
class TrajectoryRelease(Readable):
    """A release, and what of it is private.

    >>> release = fv.trajectories.read_release("paths")
    >>> release.trajectories.column_names
    ['group', 'size', 'support', 't0', 't1', 'lon0', 'lat0', 'lon1', 'lat1']
    """

    trajectories: pa.Table
    manifest: Manifest
    members: pa.Table  # private: user_id, group (null: suppressed), kept and suppressed input rows
    audit: Audit = field(default_factory=Audit)  # private
    entry: NewEntry | None = None  # private: what writing enters in a register

    def __repr__(self) -> str:
        return f"<TrajectoryRelease: {self.trajectories.num_rows:,} samples by {self.manifest.get('method')}>"

    def write(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        report: bool = False,
        ground: str | None = None,
        context: ZonesLike | None = None,
    ) -> Path:
        """Write the folder, safe to publish as a whole, and the private files beside it. report: with report.html.

        path: the folder. overwrite: replace a release that is there.
        ground, context: what the report is drawn on, as for `report`.

        >>> data = fv.trajectories.read_trajectories("samples.parquet", fv.synthetic.PHONES_BBOX, step="1km,30min")
        >>> folder = fv.trajectories.anonymize(data, k=2).write("shared", overwrite=True)
        >>> sorted(path.name for path in folder.iterdir())
        ['manifest.json', 'trajectories.parquet']
        """
        check_target(path, overwrite=overwrite)  # before it is entered
        shown = choose_report(trajectories_content, report=report, ground=ground, context=context)
        with enter(self.entry, path) as entered:
            private: dict[str, pa.Table | Mapping[str, object]] = {
                MEMBERS: self.members,
                AUDIT: {**self.audit, **entered},
            }
            return write_folder(path, self.files, private, overwrite=overwrite, report=shown)

    def _repr_html_(self) -> str:
        """Show the map in a notebook."""
        return make_inline(trajectories_content, self.files)

    @property
    def files(self) -> Files:
        """The kind, tables and manifest: what the folder holds, but for its report."""
        return Files(Kind.TRAJECTORIES, {TRAJECTORIES: self.trajectories}, self.manifest)


def make_release(
    trajectories: Trajectories,
    grouping: Grouping,
    method: str,
    options: dict[str, str | int | float | bool],
    k: int,
    description: dict[str, str] | None = None,
) -> TrajectoryRelease:
    """Turn groups of users into a release; groups are numbered by what they publish, not by who is in them."""
    if method == KM:
        check_points(grouping, k, int(options["known_points"]))
    elif any(len(group.members) < k for group in grouping.groups):
        raise PromiseError(f"a group has fewer than {k} users", "this is a bug: please report it")
    if any(len({trajectories.users[rank] for rank in group.members}) < len(group.members) for group in grouping.groups):
        raise PromiseError("a group counts a user twice", "this is a bug: please report it")
    group_of = np.full(len(trajectories), -1)
    for number, group in enumerate(grouping.groups):
        group_of[group.members] = number
    complete = is_complete(method, options)
    least = int(options.get("min_support", 1))
    kept, found = _coverage(trajectories, [group.samples for group in grouping.groups], group_of, least)
    order = sorted(range(len(found)), key=lambda number: _content(grouping.groups[number], found[number]))
    groups, support = [grouping.groups[number] for number in order], [found[number] for number in order]
    group_of[group_of >= 0] = np.argsort(order)[group_of[group_of >= 0]]
    if complete and any((seen < len(group.members)).any() for seen, group in zip(support, groups, strict=True)):
        raise PromiseError("a member was not seen in a sample of the group", "this is a bug: please report it")
    table = _table(trajectories, [group.samples for group in groups], [len(group.members) for group in groups], support)
    thresholds = complete or any(name in options for name in _THRESHOLDS)
    rows = np.bincount(trajectories.owner, trajectories.rows, minlength=len(trajectories)).astype(np.int64)
    if not kept[group_of >= 0].all():
        raise PromiseError(
            "a user would be counted in a group without a sample there", "this is a bug: please report it"
        )
    if (rows - kept).sum() > float(options.get("max_suppression", 1)) * rows.sum() + 1e-6:
        raise PromiseError(
            f"{1 - kept.sum() / rows.sum():.1%} of samples would be suppressed, more than is allowed",
            "raise max_suppression, lower k or known_points, or cut into longer periods",
        )
    if not thresholds and (kept < rows)[group_of >= 0].any():
        raise PromiseError("samples of a member would be lost", "this is a bug: please report it")
    members = _members(trajectories, group_of, kept, rows - kept)
    return TrajectoryRelease(
        table,
        make_manifest(trajectories, method, options, k, description or {}),
        members,
        _audit(trajectories, grouping, int(kept.sum()), _unsupported(table)),
    )


def read_release(path: str | Path) -> TrajectoryRelease:
    """Read a release and its private files. It does not check the promise: `verify` does.

    path: the folder.

    >>> fv.trajectories.read_release("paths").manifest["promise"]["k"]
    2
    """
    hint = "name a folder that flowveil trajectories anonymize wrote, with its .members.parquet beside it"
    files = read_files(path, {Kind.TRAJECTORIES}, "a release of trajectories", hint)
    folder = find_release(path)
    beside = folder.with_name(folder.name + MEMBERS)
    try:
        members = pq.read_table(beside)
    except FileNotFoundError:
        raise InputError(f"{str(path)!r} is not a complete release: there is no file {beside.name}", hint) from None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"the release {str(path)!r} cannot be read: {error}", hint) from None
    kinds = {name: Values(kind, 0, or_null=name == "group") for name, kind in _MEMBER_KINDS.items()}
    if "period" in members.schema.names:
        kinds = {"user_id": kinds["user_id"], "period": Values(pa.date32()), **kinds}
    check_columns(members, kinds, beside.name)
    return TrajectoryRelease(files.tables[TRAJECTORIES], files.manifest, members, read_audit(path))


def _content(group: Group, support: IntArray) -> tuple[object, ...]:
    """Return what a group is sorted by: all that is published of it, samples in bytes that compare as their numbers do.

    Members come last: they order groups only of which the same is published, where nobody sees it.
    """
    samples = np.ascontiguousarray(group.samples.T).view(np.uint64) ^ _SIGN
    return samples.astype(">u8").tobytes(), len(group.members), support.tolist(), group.members.tolist()


def _table(trajectories: Trajectories, samples: list[IntArray], sizes: list[int], support: list[IntArray]) -> pa.Table:
    grid, lengths = trajectories.grid, [part.shape[1] for part in samples]
    t0, t1, x0, x1, y0, y1 = np.concatenate(samples, axis=1)
    step = grid.minutes * MICROSECONDS_PER_MINUTE
    columns = {
        "group": np.repeat(np.arange(len(samples)), lengths),
        "size": np.repeat(sizes, lengths),
        "support": np.concatenate(support),
        "t0": pa.array(t0 * step).cast(_TIMES),
        "t1": pa.array(t1 * step).cast(_TIMES),
        "lon0": grid.longitudes(x0),
        "lat0": grid.latitudes(y0),
        "lon1": grid.longitudes(x1),
        "lat1": grid.latitudes(y1),
    }
    return pa.table(columns, schema=COLUMNS)


def _coverage(
    trajectories: Trajectories, samples: list[IntArray], group_of: IntArray, least: int
) -> tuple[IntArray, list[IntArray]]:
    """Return each user's input rows that lie in a published sample, and by group how many were seen in each sample."""
    kept = np.zeros(len(trajectories), np.int64)
    seen = [np.zeros(boxes.shape[1], np.int64) for boxes in samples]
    for user in np.flatnonzero(group_of >= 0).tolist():
        own, spots = find_held(trajectories, user, samples[group_of[user]])
        kept[user] = trajectories.rows[trajectories.start[user] + np.unique(own)].sum()
        seen[group_of[user]][np.unique(spots)] += 1
    _check_presence(seen, least)
    return kept, seen


def _unsupported(table: pa.Table) -> float:
    """Return the share of (member, sample) pairs in which the member was not seen."""
    return float(1 - table["support"].to_numpy().sum() / table["size"].to_numpy().sum())


def _check_presence(seen: list[IntArray], least: int) -> None:
    """Stop before anything is written if a sample would claim presence where nobody was, or too few."""
    if any((part < least).any() for part in seen):
        who = "nobody was" if least == 1 else f"fewer than {least} users were"
        raise PromiseError(f"a sample would be published in which {who} seen", "this is a bug: please report it")


def _members(trajectories: Trajectories, group_of: IntArray, kept: IntArray, suppressed: IntArray) -> pa.Table:
    members = pa.table(
        {
            "user_id": pa.array(trajectories.users, pa.string()),
            "group": pa.array(group_of, pa.int64(), mask=group_of < 0),
            "kept": kept,
            "suppressed": suppressed,
        },
        schema=MEMBER_COLUMNS,
    )
    if trajectories.periods is None:
        return members
    days = pa.array(trajectories.periods.astype(np.int32)).cast(pa.date32())
    return members.add_column(1, pa.field("period", pa.date32()), days)


def _audit(trajectories: Trajectories, grouping: Grouping, kept: int, unsupported: float) -> Audit:
    rows = int(trajectories.rows.sum())
    sizes = [len(group.members) for group in grouping.groups]
    published = {trajectories.users[rank] for group in grouping.groups for rank in group.members.tolist()}
    return {
        "format": AUDIT_FORMAT,
        "input": trajectories.story,
        "dropped": trajectories.dropped,
        "short_users": trajectories.short_users,
        "users": len(set(trajectories.users)),
        "suppressed_users": len(set(trajectories.users) - published),
        "trajectories": len(trajectories),
        "suppressed_trajectories": len(grouping.suppressed_users),
        "rows": rows,
        "suppressed_rows": rows - kept,
        "groups": len(sizes),
        "largest_group": max(sizes),
        "unsupported": unsupported,
        "notes": list(trajectories.notes),
        **({} if grouping.price is None else {"price": grouping.price}),
    }
