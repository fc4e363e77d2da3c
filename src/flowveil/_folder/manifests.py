"""What the manifest of a release and the audit file beside it say, by kind of release."""

from __future__ import annotations

from typing import TypedDict


class Settings(TypedDict, total=False):
    """What the user typed: places, times, groups and options of the method. Nothing else, so that it tells nothing."""

    grid: str | None  # flows and noise: h3:RESOLUTION or quadtree:METERS; None for zones
    hierarchy: str | list[str]
    crs: str
    place_names: str  # what areas of a grid are called after
    zone_name: str  # the column that names zones; without it their ids do
    bbox: list[float]  # west, south, east, north in degrees
    time: str
    time_hierarchy: str
    timezone: str
    by: list[str]  # columns of groups
    groups: dict[str, list[str | None]]  # noise: the values of each
    period: str  # noise: which steps of the calendar there are
    persons: bool  # noise: persons are counted beside trips
    areas_from: bool  # the areas are those of an earlier release
    same_areas: bool  # areas were chosen for all steps of time and groups at once
    method_options: dict[str, bool | int | float | str]
    cells: int  # boxes with noise: parts of each side of the bbox
    places: list[str]  # boxes with noise: what each pair of axes is
    projection: str  # trajectories
    parallel: int
    step: str
    min_samples: int
    variant: str
    reshape: bool
    cut_into: str
    caps: str
    weights: str
    max_extent: str
    max_duration: str
    known_points: int
    max_suppression: float
    blocks: int
    min_support: int
    complete_support: bool
    price: float
    max_mean_extent: str
    max_mean_duration: str
    days: str  # synthetic trajectories
    users: int
    seed: int


class Spending(TypedDict):
    """What a path through a release with noise spends at one step."""

    spend: str
    epsilon: float


class Promise(TypedDict, total=False):
    """What a release promises, by kind of promise."""

    kind: str  # k-anonymity, km-anonymity or differential-privacy
    unit: str  # what is protected: trip, user, or the column of persons
    k: int
    volumes: str  # exact, lower-bound, rounded or perturbed
    areas: str  # disjoint or overlapping
    weight: str
    trip_weight: str
    k_weight: float | str
    min_tiles: int
    max_share: float
    sensitive_tiles: int
    max_suppression: float
    elsewhere: bool
    shapes: str
    totals: bool
    remainders: bool  # a flow may count what finer flows inside it leave
    rounding: int  # numbers are multiples of it
    cell_key: int  # numbers are changed by at most so much
    protect_margins: bool  # departures and arrivals that others know give nobody away
    same_areas: bool  # all steps of time and groups have their pairs of areas in common
    hidden_choice: float  # the largest chance that a secret draw kept areas whole
    epsilon: float  # noise
    delta: float
    protects: str  # trip, person, person-day, person-week, person-month or window:STEPS
    neighbours: str
    draws: list[dict[str, object]]  # of a stream: the matrix, epsilon and budget of each
    max_trips_per_person: int | None
    budget: list[Spending]
    records: str  # trajectories
    samples: str
    spans: str
    support: str  # complete: every member was seen in every sample
    cut_into: str
    max_extent: str
    max_duration: str
    known_points: int  # of a user, that an attacker may know
    min_support: int


class Description(TypedDict, total=False):
    """What the publisher says of a release: what was typed, and nothing else."""

    title: str
    period: str
    publisher: str
    license: str
    contact: str
    unit_label: str  # what the unit tells apart, in the plural: bikes


class _Said(TypedDict):
    format: str
    software: str
    method: str
    options: Settings
    promise: Promise
    promise_text: str
    absence: str


class Manifest(_Said, total=False):
    """The manifest of a release of any kind: all that is above, and a description where the publisher gave one."""

    description: Description


class AuditInput(TypedDict, total=False):
    """What a release was made from."""

    columns: dict[str, str]
    where: str | None
    reading: dict[str, str]  # how values are written, as the user said
    zones: str | None
    places: str | None
    sensitive: str
    towers: str | None
    unit: str | None
    weight: str | None
    trip_weight: str | None
    fingerprint: list[dict[str, str | int]]


class Audit(TypedDict, total=False):
    """The private audit file of a release, by kind of release."""

    format: str
    input: AuditInput
    rows: int
    dropped: dict[str, int]  # rows by reason
    outside_bbox: int
    trips: int
    notes: list[str]
    unknown_zones: list[str]  # flows
    suppressed_trips: int
    suppressed: float
    coverage: dict[str, object]  # what of the input is in the release
    metrics: dict[str, object]
    secret: str  # what chance was drawn from, where numbers were changed or the choice of areas is hidden
    beyond_max_trips_per_person: int  # noise
    ledger: list[dict[str, str | int | float]]
    users: int  # trajectories
    short_users: int
    suppressed_users: int
    trajectories: int
    suppressed_trajectories: int
    suppressed_rows: int
    groups: int
    largest_group: int
    unsupported: float
    price: float  # of a sample, as it was given or found
    register: str  # by which the register knows that the folder was written
    files: list[dict[str, str | int]]  # name, bytes and SHA-256 of the files of the folder, but for its report
