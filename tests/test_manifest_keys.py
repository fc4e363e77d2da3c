"""Every key of every manifest, altered: which changes the verifier finds, with and without the audit file."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

import flowveil as fv
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones, write_city

if TYPE_CHECKING:
    from pathlib import Path

SAID = {"title": "Flows", "period": "May", "publisher": "City", "license": "CC0", "contact": "a@b.c"}

# What a stranger who has the release and the trips, but not the audit file, takes for true (docs/limits.md says why).
TYPED = {  # what the publisher typed, and nothing in the release follows from
    *("software", "description.title", "description.period", "description.publisher"),
    *("description.license", "description.contact"),
}
WEAKER = {
    "promise.k",
    "promise.max_suppression",
    "promise.k_weight",
    "promise.min_tiles",
}  # a weaker promise holds, too


@dataclass(frozen=True)
class Written:
    """A release, what it is verified against, and the keys that may be altered unseen without an audit file."""

    folder: Path
    against: Any = None
    unseen: frozenset[str] = field(default_factory=frozenset)
    zones: Path | None = None

    def verify(self) -> fv.Verification | fv.trajectories.TrajectoryVerification:
        """Check it."""
        return fv.verify(self.folder, self.against, zones=self.zones)


def _flows(work, name, unseen=(), *, grid="h3:6", hierarchy="h3", zones=None, count=None, **asked):
    trips = work / ("zone_trips.parquet" if zones else "trips.parquet")
    places = {"zones": zones} if zones else {"grid": grid, "bbox": CITY_BBOX}
    flows = fv.build_flows(trips, hierarchy=hierarchy, **places, **count or {})
    folder = fv.anonymize(flows, **{"k": 5, **asked}).write(work / name)
    return Written(folder, trips, frozenset(unseen), zones)


def _make(kind, work):
    """Write a release of some kind."""
    zones = work / "zones.parquet"
    persons = {"unit": "person_id"}
    makers = {
        "mosaic": lambda: _flows(
            work,
            kind,
            {*TYPED, "method", "options.bbox", "promise.max_suppression", "promise.k"},
            count=persons,
            **SAID,
        ),
        "options": lambda: _flows(
            work,
            kind,
            {"software", "options.method_options.time_weight", "promise.k", "promise.max_suppression", "options.bbox"},
            count={"time_hierarchy": "hour-of-day<part-of-day", "by": ["sex"]},
            options={"time_weight": 2.0},
        ),
        "nested": lambda: _flows(
            work,
            kind,
            {
                "software",
                "method",
                "options.method_options.max_gbar",
                "options.method_options.loss",
                "promise.k",
                "promise.k_weight",
            },
            zones=zones,
            hierarchy="ward",
            method="nested",
            count={"weight": "weight", **persons},
            k_weight=20,
            options={"side": "origin"},
            loss="metres",
            max_gbar=30,
        ),
        "odkanon": lambda: _flows(
            work,
            kind,
            {"software"},
            grid="quadtree:4000",
            hierarchy=None,
            method="odkanon",
            options={"reinstate": False},
        ),
        "mondrian": lambda: _flows(work, kind, {"software"}, method="mondrian"),
        "totals": lambda: _flows(work, kind, {"software"}, count={"by": ["sex"], **persons}, totals=True),
        "boxes": lambda: Written(
            fv.add_noise(
                fv.build_matrix(work / "trips.parquet", CITY_BBOX, 8),
                "daf-homogeneity",
                2.0,
                options={"cut_share": 0.4},
            ).write(work / kind),
            None,
            frozenset({"software"}),
        ),
        "noise": lambda: Written(
            fv.add_noise(
                work / "trips.parquet",
                epsilon=2.0,
                grid="h3:5",
                bbox=CITY_BBOX,
                max_trips_per_person=2,
                **persons,
                **SAID,
            ).write(work / kind),
            None,
            frozenset({*TYPED}),
        ),
        "paths": lambda: Written(
            fv.trajectories.anonymize(
                fv.trajectories.read_trajectories(phones(20, samples=15), PHONES_BBOX),
                2,
                max_extent="15km",
                **SAID,
                unit_label="phones",
            ).write(work / kind),
            phones(20, samples=15),
            frozenset({*TYPED}),
        ),
    }
    return makers[kind]()


KINDS = ("mosaic", "options", "nested", "odkanon", "mondrian", "totals", "boxes", "noise", "paths")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Write trips of a small city, by place and by zone."""
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("keys")
    write_city(folder / "trips.parquet", trips=600, persons=80)
    city = write_city(folder / "zone_trips.parquet", trips=600, persons=80, ends="zones")
    pq.write_table(city.zones(), folder / "zones.parquet")
    return folder


def paths_in(value, path=()):
    """Yield the path of every key and item."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from paths_in(inner, (*path, key))


# Values that might well stand there: a change to nonsense is easily found.
PLAUSIBLE = {
    "software": ["flowveil 9.9.9"],
    "method": [method.name for method in fv.methods()] + ["glove"],
    "hierarchy": ["h3", "h3-binary", "lattice", "ward", "many", "quadtree"],
    "grid": ["h3:5", "h3:7", "quadtree:2000", None],
    "unit": ["trip", "person_id", "user", "weight"],
    "volumes": ["exact", "lower-bound"],
    "areas": ["disjoint", "overlapping"],
    "side": ["either", "origin", "destination"],
    "loss": ["area", "reconstruction"],
    "budget": ["each"],
    "variant": ["strict", "absorb", "loose"],
    "max_extent": ["16km", "14km", "15000m"],
    "time_hierarchy": ["hour-of-day<part-of-day<day", "hour-of-week<day"],
    "projection": ["Mercator"],
    "step": ["200m,1min", "100m,2min"],
    "unit_label": ["users"],
}


def changes(value, key):
    """Yield other values."""
    yield from (other for other in PLAUSIBLE.get(key, ()) if other != value)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value - 1, value + 1, value * 1.001, value * 2)
    elif isinstance(value, str):
        yield from (value + "x", value[:-1])
    elif isinstance(value, list):
        yield from (value[::-1], value[:-1], [*value, *value[-1:]])
    yield None


def altered(manifest):
    """Yield manifests with one change each, and the key that was changed."""
    for path in paths_in(manifest):
        key = next(part for part in reversed(path) if isinstance(part, str))
        name = ".".join(part for part in path if isinstance(part, str))
        for gone in (True, False):
            others = [None] if gone else list(changes(_at(manifest, path), key))
            for other in others:
                changed = copy.deepcopy(manifest)
                place = _at(changed, path[:-1])
                if gone:
                    del place[path[-1]]
                else:
                    place[path[-1]] = other
                if json.dumps(changed) != json.dumps(manifest):
                    yield name, changed
    for path in ((), *paths_in(manifest)):
        if isinstance(_at(manifest, path), dict):
            changed = copy.deepcopy(manifest)
            _at(changed, path)["note"] = "17 trips"
            yield "note", changed


def _at(value, path):
    for part in path:
        value = value[part]
    return value


def unseen(written):
    """Return the keys whose alteration passes, with an example each."""
    file = written.folder / "manifest.json"
    original = file.read_text(encoding="utf-8")
    passing = {}
    try:
        for name, manifest in altered(json.loads(original)):
            file.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            try:
                written.verify()
            except (fv.VerificationError, fv.InputError):
                continue
            passing.setdefault(name, []).append(manifest)
    finally:
        file.write_text(original, encoding="utf-8")
    return passing


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_bound(kind, work):
    """With the audit file no alteration of a manifest passes; without it, only what the docs list."""
    written = _make(kind, work)
    written.verify()

    assert list(unseen(written)) == []

    audit = written.folder.with_name(written.folder.name + ".audit.json")
    audit.unlink()
    assert set(unseen(written)) == written.unseen
