"""What users do with a release folder of any kind: each operation finds its function in the record of the kind."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

from flowveil._errors import InputError
from flowveil._export import check_format, export_release, find_format
from flowveil._folder import NEEDS, Kind, check_kind, find_kind, find_release, read_manifest
from flowveil._kinds.records import RECORDS
from flowveil._matrices import NoisyRelease
from flowveil._options import check_flag, check_path
from flowveil._questions import Answered
from flowveil._reading import reconstruct_flows, sample_trips
from flowveil._release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from flowveil._export import Export
    from flowveil._folder import Files, Json
    from flowveil._matrices import Answer
    from flowveil._places import NamedPlacesLike, ZonesLike
    from flowveil._reading import Reconstruction
    from flowveil._synthesis import SyntheticRelease
    from flowveil._trajectories import TrajectoryRelease
    from flowveil._trips import TripsLike
    from flowveil._verify import TrajectoryVerification, Verification

Figures: TypeAlias = "dict[str, bool | int | float | str | list[float] | list[Figures] | Figures | None]"  # by name


def read_release(release: str | Path) -> Release | NoisyRelease | TrajectoryRelease | SyntheticRelease:
    """Read a release folder; what comes back is of the class of its kind.

    It does not check the promise (`verify` does), and `metrics()` of a release that was read back raises.

    >>> type(fv.read_release("release")).__name__, type(fv.read_release("noisy")).__name__
    ('Release', 'NoisyRelease')
    """
    kind, _ = read_manifest(release)
    content: Release | NoisyRelease | TrajectoryRelease | SyntheticRelease = RECORDS[kind].read(release)
    return content


def verify(
    release: str | Path,
    trips: TripsLike | None = None,
    *,
    zones: ZonesLike | None = None,
    places: NamedPlacesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    beside: str | Path | None = None,
    context: ZonesLike | None = None,
    sensitive: ZonesLike | None = None,
) -> Verification | TrajectoryVerification:
    """Check every promise of a release folder against its input; raise VerificationError at the first broken one.

    trips: what `read_trips` returns, or anything it takes; of trajectories, their samples. zones: the zones of a
    release about zones; places: those that its areas are called after, where they are the publisher's own. Input
    options (columns, where, zones, places) come from the private audit file beside the folder unless
    they are given. beside: another release of the same data; checks that the two together give no smaller crowd away.
    context: what the report shows beside the release, if it says that it does. sensitive: the places of which it says
    that no small area touches one; also from the audit file.
    Messages name the first offending flow, and never a count below k or a person.
    A release with noise is checked for structure and budget, without trips: noise cannot be checked.

    >>> for check in fv.verify("release", "trips.parquet").checks[3:5]:
    ...     print(check)
    every flow has exactly the volume that the input has
    every flow has at least 5 persons
    """
    if beside is not None:
        check_path(beside, "beside")
    kind = find_kind(find_release(release)) or Kind.FLOWS  # whose verifier says what is wrong with the manifest
    check = RECORDS[kind].verify
    given = {"zones": zones, "places": places, "columns": columns, "where": where, "beside": beside}
    given |= {"context": context, "sensitive": sensitive}
    options = check_options(check, kind, given)
    if beside is not None:
        check_kind(beside, *NEEDS["beside"])
    if trips is None and not kind.noisy:
        raise InputError("this release is checked against its trips", "give them with --against INPUT")
    proof: Verification | TrajectoryVerification = check(release, *(() if kind.noisy else (trips,)), **options)
    return proof


def evaluate(
    release: str | Path,
    trips: TripsLike,
    *,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    unit: str | None = None,
    weight: str | None = None,
    k: int | None = None,
    k_weight: float | str | None = None,
    tiles: str | None = None,
    each: bool | None = None,
    stops: str | Sequence[str] | None = None,
    frames: str | None = None,
    timezone: str | None = None,
    questions: bool = False,
) -> Figures:
    """Return what a release folder lost against its input; the figures are private.

    Of flows the metrics (docs/metrics.md), of noise the errors of queries by workload, of trajectories accuracy,
    utility and unicity, of synthetic ones how far they are from true ones. Input options (columns, where, zones) come
    from the audit file beside the release unless they are given. Of flows only: unit, weight, k, k_weight are what
    they are held against, whatever the release promises (by default what it promises, and a k_weight of k times the
    mean weight); tiles: count those of the "tree" (the default), or "all" of an area; each: with a row of metrics for
    each step of time and group.
    Of noise only: stops and frames, as the release was made with; zones: those of your own questions, a row for the
    flows between them. timezone: of frames, or of trajectories.
    questions: in place of all this, what people ask of trips, answered from the input and from the release: the same
    figures for every kind. zones are then districts of one's own; by default squares. Of paths a trip is a move, from
    one sample to the next.
    trips: what `read_trips` returns, or anything it takes; of trajectories, their samples.

    >>> figures = fv.evaluate("release", "trips.parquet")
    >>> figures["k"], figures["below_k"]
    (5, 0)
    >>> fv.evaluate("release", "trips.parquet", questions=True)["top"]["count"]
    10
    """
    kind, _ = read_manifest(release)
    measure = RECORDS[kind].ask if check_flag(questions, "questions") else RECORDS[kind].evaluate
    input_options = {"zones": zones, "columns": columns, "where": where}
    given: dict[str, object] = {
        **input_options,
        "unit": unit,
        "weight": weight,
        "k": k,
        "k_weight": k_weight,
        "tiles": tiles,
    }
    given |= {"stops": stops, "frames": frames, "timezone": timezone}
    given |= {"each": each or None}
    measured: Figures | Answered = measure(release, trips, **check_options(measure, kind, given))
    return measured.figures if isinstance(measured, Answered) else measured


def export(release: str | Path, to: str, path: str | Path, *, overwrite: bool = False) -> Export:
    """Write a release folder in a format of other tools.

    to: of every kind of release "csv" (a folder of tables), "excel" (a workbook), "datapackage" (the folder of tables
    with datapackage.json, which describes them) and "dcat" (a description for data portals, in JSON-LD); of flows also
    "geojson" (a folder: areas as outlines, flows as lines), "gpkg" (GeoPackage with the same two layers),
    "flowmap-blue" (a folder: locations.csv and flows.csv), "omx" (Open Matrix), "skmob" (a folder: the columns of
    scikit-mobility's FlowDataFrame and its tessellation); of trajectories also "geojson" (boxes), "skmob" (the columns
    of a TrajDataFrame), "movingpandas" (GeoParquet) and "gpx".
    path: the file or folder to write. overwrite: replace an export that is there.

    >>> written = fv.export("release", "geojson", "layers", overwrite=True)
    >>> sorted(path.name for path in written.path.iterdir())
    ['areas.geojson', 'flows.geojson']
    """
    find_format(to)
    kind, _ = read_manifest(release)
    check_format(to, kind)
    return export_release(RECORDS[kind].read(release).files, to, path, overwrite=overwrite)


def reconstruct(
    release: str | Path | Release | NoisyRelease,
    zones: ZonesLike,
    *,
    spread: str = "learned",
    weights: ZonesLike | None = None,
) -> Reconstruction:
    """Estimate the flows between zones from a release alone: public data in, public data out.

    zones: a table or file of zones with outlines (or with the ids of the release's own zones). spread: "learned", as a
    model of all flows together expects, which also places what was left out; or "even", over the whole of both areas,
    so that a pair of zones gets the product of the two overlaps. weights: a table or file of places with a column
    `weight` (population, jobs), that trips are taken to go with where the release does not tell. Steps of time and
    groups are kept apart, so that zones have time profiles though every step has areas of its own (ATG paper,
    appendix H). Noisy counts are added up as they are, negative ones too: only then do their errors cancel.

    >>> fv.reconstruct("release", "zones.parquet", spread="even").flows.column_names
    ['origin', 'destination', 'trips']
    """
    return reconstruct_flows(_files(release, "reconstruct"), zones, spread=spread, weights=weights)


def sample(release: str | Path | Release | NoisyRelease, count: int, *, seed: int | None = None) -> pa.Table:
    """Draw synthetic trips from a release, for traffic models and teaching: nothing else is used, nobody made them.

    count: how many. seed: draw the same trips again; by default others each time. Columns: `trip_id`, `origin` and
    `destination` (areas), the groups, `start_lon`, `start_lat`, `end_lon`, `end_lat` (or `origin_zone` and
    `destination_zone` where areas have no outlines), when trips start if the release has steps of time (`start_time` in
    UTC, or `depart`, in seconds of the day or week), and `synthetic`, which is always true.

    >>> fv.sample("release", 100, seed=1).column_names[:5]
    ['trip_id', 'origin', 'destination', 'start_lon', 'start_lat']
    """
    return sample_trips(_files(release, "sample"), count, seed)


def _files(release: str | Path | Release | NoisyRelease, operation: str) -> Files:
    """Return what a release holds, of a kind that can do something."""
    if isinstance(release, Release | NoisyRelease):
        return release.files
    kind, _ = read_manifest(release, *NEEDS[operation])
    files: Files = RECORDS[kind].read(release).files
    return files


def query(
    release: str | Path,
    *,
    origin: str | Iterable[float] | None = None,
    destination: str | Iterable[float] | None = None,
    stops: Mapping[int, str | Iterable[float]] | Iterable[str | Iterable[float]] | None = None,
    places: Mapping[str, str | Iterable[float]] | Iterable[str] | None = None,
    origin_zones: str | Iterable[str] | None = None,
    destination_zones: str | Iterable[str] | None = None,
    at: Mapping[str, object] | Iterable[str] | None = None,
) -> Answer:
    """Estimate the trips of a release with noise that start, end and stop in boxes (west, south, east, north).

    stops: boxes by the number of the stop, from 1, or in order. places: boxes by the names in the manifest, e.g. of
    frames, or texts NAME=W,S,E,N. A place without a box may be anywhere.
    origin, destination: boxes of both ends, in degrees. origin_zones, destination_zones: in their place, ids of zones
    of a release about zones. at: values of time and groups, e.g. {"time": 8, "sex": "f"}, or texts "time=8".

    >>> answer = fv.query("noisy", origin=(4.5, 50.3, 4.6, 50.4))
    >>> answer.low <= answer.estimate <= answer.high
    True
    """
    content, ask = _open(release, "query")
    answer: Answer = ask(
        content,
        origin=origin,
        destination=destination,
        stops=stops,
        places=places,
        origin_zones=origin_zones,
        destination_zones=destination_zones,
        at=at,
    )
    return answer


def check_options(
    function: Callable[..., object], kind: Kind, given: Mapping[str, object]
) -> dict[str, Json]:  # as the function takes them
    """Return the options that a user gave (those that are not None); raise InputError if the function lacks one."""
    options = {name: value for name, value in given.items() if value is not None}
    if strange := [name for name in options if name not in signature(function).parameters]:
        raise InputError(f"these options do not fit a release of {kind.title}: {', '.join(strange)}", "leave them out")
    return options


def _open(release: str | Path, operation: str) -> tuple[Any, Callable[..., Any]]:  # as Record has it
    """Return a release and the function of an operation on it; raise InputError if its kind has none."""
    kind, _ = read_manifest(release, *NEEDS[operation])
    return RECORDS[kind].read(release), getattr(RECORDS[kind], operation)
