"""A file of trips made of raw fixes: whole or not at all, and for its owner only."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine import ReadingOptions
from flowveil._errors import DroppedRowsWarning, InputError, warn
from flowveil._fixes.finding import find_trips
from flowveil._fixes.rules import AUTO, OCCUPIED, SIGHTINGS, STOPS, check_settings, parse_rules
from flowveil._fixes.tables import TableFile, stop_schema, stop_table, trip_schema, trip_table
from flowveil._folder import check_file, private_file
from flowveil._options import parse_max_unusable, parse_memory
from flowveil._processes import work_ahead
from flowveil._trips import open_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from flowveil._engine import Readable, SortedSamples, UserSamples
    from flowveil._fixes.finding import UserTrips
    from flowveil._fixes.rules import Rules
    from flowveil._trips import SampleSource

_REPEATED, _TOO_FAST, _TOO_SHORT = "repeated", "faster than the largest speed", "shorter than the least length"


@dataclass(frozen=True)
class MadeTrips:
    """Trips that were made of fixes: the file, and what became of the fixes. All of it is private.

    >>> made = fv.make_trips("samples.parquet", "seen.parquet", rule="sightings", max_gap="12h")
    >>> made.users, made.settings["rule"]
    (20, 'sightings')
    """

    path: Path
    settings: dict[str, str | int]  # as they were given, and the rule that was chosen
    fixes: int  # rows of the input
    dropped: dict[str, int]  # fixes, by reason
    users: int
    users_without_trips: int
    stops: int | None  # None where the rule looks for none
    trips: int
    dropped_trips: dict[str, int] = field(default_factory=dict)  # by reason
    more_stops: int = 0  # trips with more short stops than were asked for
    assumed: list[str] = field(default_factory=list)  # how the fixes were read, where nothing told

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, in words."""
        notes = [*self.assumed, *(f"{count:,} fixes dropped: {reason}" for reason, count in self.dropped.items())]
        notes += [f"{count:,} trips dropped: {reason}" for reason, count in self.dropped_trips.items()]
        if self.users_without_trips:
            notes.append(f"{self.users_without_trips:,} of {self.users:,} users have no trip")
        if self.more_stops:
            notes.append(f"{self.more_stops:,} trips have more short stops than there are columns: the longest count")
        return tuple(notes)

    def record(self) -> dict[str, object]:
        """Return all but the path, as the metadata of the file keeps it.

        >>> fv.make_trips("samples.parquet", "kept.parquet", rule="runs").record()["settings"]["max_gap"]
        '1h'
        """
        return {name: value for name, value in asdict(self).items() if name != "path"}


def make_trips(
    fixes: Readable,
    path: str | Path,
    *,
    rule: str = AUTO,
    stop_radius: str = "200m",
    stop_time: str = "20min",
    max_gap: str = "1h",
    max_speed: str = "500km/h",
    min_length: str = "0m",
    short_stops: int = 0,
    short_stop_time: str = "5min",
    towers: Readable | None = None,
    stops_file: str | Path | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    time_format: str | None = None,
    input_crs: str | None = None,
    max_unusable: float | None = None,
    memory: str | int | None = None,
    overwrite: bool = False,
    tell: Callable[[str], None] | None = None,
) -> MadeTrips:
    """Make a Parquet file of trips from raw fixes: who was where and when, one row each. Only its owner may read it.

    fixes: anything that `read_trips` takes, with columns user, lon, lat, time, and for cabs occupied; or a folder of
    text files as of cabspotting. path: the file to write. rule: stops (a trip goes from a stop to the next), occupied
    (fixes of a cab while somebody is in it), runs (all fixes between two gaps), sightings (from a fix to the next one
    elsewhere), or auto: occupied where there is such a column, sightings with towers, else stops.
    stop_radius, stop_time: a stop is fixes in a row, within the radius of the first and over this time. max_gap: no
    trip goes on through a longer silence. max_speed: fixes that need a higher speed are dropped. min_length: of trips,
    as the crow flies. short_stops: how many stops on the way get columns stop_1_lon, stop_1_lat, ...;
    short_stop_time: how long they last at least. towers: a table tower, lon, lat, for fixes that name a tower.
    stops_file: a second file, of stops. columns, where, memory: as for `read_trajectories`. encoding, decimal,
    time_format, input_crs: how the fixes are written, as for `read_trips`. max_unusable: raise if more
    than this share of the fixes cannot be used (default 0.2). overwrite: replace files that are there. tell: is told
    what is being done. Fixes that are dropped are told by a DroppedRowsWarning.

    >>> made = fv.make_trips("samples.parquet", "made.parquet", stop_radius="2km", stop_time="1h", max_gap="12h")
    >>> fv.build_flows(made.path, grid="h3:5", unit="user_id").total == made.trips
    True
    """
    settings: dict[str, str | int] = {
        "rule": rule,
        "stop_radius": stop_radius,
        "stop_time": stop_time,
        "max_gap": max_gap,
        "max_speed": max_speed,
        "min_length": min_length,
        "short_stops": short_stops,
        "short_stop_time": short_stop_time,
    }
    check_settings(settings)
    files = [path] if stops_file is None else [path, stops_file]
    targets = [check_file(target, overwrite=overwrite) for target in files]
    if len(set(targets)) < len(targets):
        raise InputError("trips and stops cannot be written to one file", "give --stops-file another name")
    allowed, most = None if memory is None else parse_memory(memory), parse_max_unusable(max_unusable)
    reading = ReadingOptions(encoding=encoding, decimal=decimal, time_format=time_format, input_crs=input_crs)
    source = open_samples(fixes, columns, where, towers=towers, occupied=rule in (AUTO, OCCUPIED), reading=reading)
    settings["rule"] = _choose_rule(rule, source.columns)
    if stops_file is not None and settings["rule"] != STOPS:
        raise InputError(
            f"the rule {settings['rule']} looks for no stops", "leave out --stops-file, or use --rule stops"
        )
    say = tell or (lambda _: None)
    say("sorting fixes")
    with source.sort(allowed) as samples:
        _check_usable(samples, most)
        say("finding trips")
        made = _make(samples, settings, source, targets, overwrite=overwrite)
    if made.dropped:
        warn(
            "; ".join(f"{count:,} fixes dropped: {reason}" for reason, count in made.dropped.items()),
            DroppedRowsWarning,
        )
    return made


def _check_usable(samples: SortedSamples, most: float) -> None:
    """Raise if more than a share of the fixes cannot be used."""
    lost = sum(samples.dropped.values())
    if lost > most * samples.rows:
        reasons = ", ".join(f"{reason} ({count:,})" for reason, count in samples.dropped.items())
        raise InputError(
            f"{lost:,} of {samples.rows:,} fixes cannot be used: {reasons}",
            "check --columns, --time-format where times are not read, and --towers where fixes name towers;"
            " to leave them out anyway, say --max-unusable 1",
        )


def _make(
    samples: SortedSamples,
    settings: dict[str, str | int],
    source: SampleSource,
    targets: list[Path],
    *,
    overwrite: bool,
) -> MadeTrips:
    """Write trips, and stops if there is a second file; both appear when all is done."""
    rules = parse_rules(settings)
    typed = settings | source.reading.typed()
    schemas = (trip_schema(aware=samples.aware, short_stops=rules.short_stops), stop_schema(aware=samples.aware))
    with ExitStack() as files:
        news = [files.enter_context(private_file(target, overwrite=overwrite)) for target in targets]
        tables = [files.enter_context(TableFile(*pair)) for pair in zip(news, schemas, strict=False)]
        made = replace(_find_all(samples, rules, typed, targets[0], tables), assumed=list(source.assumed))
        if not made.trips:
            raise InputError(
                f"the fixes hold no trip: {'; '.join(made.notes) or 'the input has no rows'}",
                "try another --rule, or larger gaps",
            )
        for table in tables:
            table.end(made.record())
    return made


def _choose_rule(rule: str, columns: Mapping[str, str]) -> str:
    """Return the rule to use: by what there is to go by, if none was given."""
    if rule == OCCUPIED and "occupied" not in columns:
        raise InputError(
            "the samples have no column for occupied", "map its name with --columns occupied=YOUR_COLUMN, or use stops"
        )
    if rule != AUTO:
        return rule
    return OCCUPIED if "occupied" in columns else SIGHTINGS if "tower" in columns else STOPS


def _find_all(
    samples: SortedSamples, rules: Rules, settings: dict[str, str | int], path: Path, tables: list[TableFile]
) -> MadeTrips:
    """Find trips, users by users on all cores, and write them in order."""
    users = stops = alone = more = 0
    dropped, short = dict(samples.dropped), {_TOO_SHORT: 0}
    counts = {_REPEATED: 0, _TOO_FAST: 0}
    for ids, made in work_ahead(partial(_find, rules), samples.parts):
        tables[0].add(trip_table(tables[0].schema, ids, made))
        if made.stops is not None:
            stops += len(made.stops)
            for table in tables[1:]:
                table.add(stop_table(table.schema, ids, made.stops))
        users += len(ids)
        alone += len(ids) - len(np.unique(made.starts.user))
        counts[_REPEATED] += made.repeated
        counts[_TOO_FAST] += made.too_fast
        short[_TOO_SHORT] += made.too_short
        more += made.more_stops
    return MadeTrips(
        path=path,
        settings=settings,
        fixes=samples.rows,
        dropped=dropped | {reason: count for reason, count in counts.items() if count},
        users=users,
        users_without_trips=alone,
        stops=stops if rules.rule == STOPS else None,
        trips=tables[0].rows,
        dropped_trips={reason: count for reason, count in short.items() if count},
        more_stops=more,
    )


def _find(rules: Rules, samples: UserSamples) -> tuple[list[str], UserTrips]:
    return samples.users, find_trips(samples, rules)
