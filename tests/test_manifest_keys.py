"""Every key of every manifest, altered: which changes the verifier finds, with and without the audit file."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones, write_city
from tests.test_verify import write_table

if TYPE_CHECKING:
    from pathlib import Path

SAID = {"title": "Flows", "period": "May", "publisher": "City", "license": "CC0", "contact": "a@b.c"}

# What a stranger who has the release and the trips, but not the audit file, takes for true (docs/limits.md says why).
TYPED = {"software", *(f"description.{key}" for key in SAID)}
PUBLIC_BOX = {"options.bbox"}


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
    persons = {"unit": "person_id"}
    makers = {
        "mosaic": lambda: _flows(
            work, kind, {*TYPED, *PUBLIC_BOX, "description", "options.hierarchy"}, count=persons, **SAID
        ),
        "options": lambda: _flows(
            work,
            kind,
            {
                *("software", "options.bbox", "options.hierarchy", "options.time_hierarchy", "options.method_options"),
                "options.method_options.time_weight",
            },
            count={"time_hierarchy": "hour-of-day<part-of-day", "by": ["sex"]},
            options={"time_weight": 2.0},
        ),
        "nested": lambda: _flows(
            work,
            kind,
            {
                *("software", "options.hierarchy", "options.method_options.max_gbar", "options.method_options.loss"),
                "options.method_options.side",
            },
            zones=work / "zones.parquet",
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
            {"software", *PUBLIC_BOX},
            grid="quadtree:4000",
            hierarchy=None,
            method="odkanon",
            options={"reinstate": False},
        ),
        "boxes": lambda: Written(
            fv.add_noise(
                fv.build_matrix(work / "trips.parquet", CITY_BBOX, 8),
                "daf-homogeneity",
                2.0,
                options={"cut_share": 0.4},
            ).write(work / kind),
            None,
            frozenset(
                {
                    *("software", "options.bbox", "options.places", "options.method_options"),
                    "options.method_options.cut_share",
                }
            ),
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
            frozenset({*TYPED, *PUBLIC_BOX, "description"}),
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
            frozenset({*TYPED, *PUBLIC_BOX, "options.variant", "options.min_samples"}),
        ),
    }
    return makers[kind]()


KINDS = ("mosaic", "options", "nested", "odkanon", "boxes", "noise", "paths")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Write trips of a small city, by place and by zone."""
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


def rewrite(folder, manifest):
    """Write a manifest as releases are written."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8")


def passes(written, manifest):
    """Whether a release verifies with another manifest."""
    rewrite(written.folder, manifest)
    try:
        written.verify()
    except (fv.VerificationError, fv.InputError):
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_bound(kind, work):
    """Without the audit file only those alterations of a manifest pass that the docs list; with it, none."""
    written = _make(kind, work)
    original = json.loads((written.folder / "manifest.json").read_text(encoding="utf-8"))
    audit = written.folder.with_name(written.folder.name + ".audit.json")
    written.verify()

    hidden = audit.rename(audit.with_name("elsewhere"))
    unseen = [(name, manifest) for name, manifest in altered(original) if passes(written, manifest)]
    hidden.rename(audit)

    names = {name for name, _ in unseen}
    assert names <= written.unseen
    assert written.unseen - names <= {"options.bbox"}  # which another box passes for by chance, where there is noise
    assert [name for name, manifest in unseen if passes(written, manifest)] == []


def test_a_description_is_bound(work):
    """What nothing else in a release follows from is bound by the hash in the audit file, and so is noise."""
    matrix = fv.build_matrix(work / "trips.parquet", CITY_BBOX, 4)
    folder = fv.add_noise(matrix, "identity", 1.0, title="May").write(work / "bound")
    cells = pq.read_table(folder / "cells.parquet")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert fv.verify(folder).checks[-2].startswith("every file but the report is as it was written")

    rewrite(folder, manifest | {"description": {"title": "June"}})
    with pytest.raises(fv.VerificationError, match=r"'manifest\.json' is not the file that was written"):
        fv.verify(folder)

    rewrite(folder, manifest)
    moved = pa.concat_tables([cells.slice(1), cells.slice(0, 1)])
    for name in ("count", "nonnegative", "scale"):
        cells = cells.set_column(cells.column_names.index(name), name, moved[name])
    write_table(cells, folder / "cells.parquet")
    with pytest.raises(fv.VerificationError, match=r"'cells\.parquet' is not the file that was written"):
        fv.verify(folder)

    folder.with_name("bound.audit.json").unlink()
    assert fv.verify(folder).flows == 256


def test_a_broken_list_of_hashes_is_bad_input(work):
    """An audit file whose list of files is none is not ignored."""
    folder = _flows(work, "listed").folder
    audit = folder.with_name("listed.audit.json")
    audit.write_text(json.dumps(json.loads(audit.read_text(encoding="utf-8")) | {"files": 7}), encoding="utf-8")

    with pytest.raises(fv.InputError, match="'files' of the audit file"):
        fv.verify(folder, work / "trips.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("made", ["mosaic", "mondrian", "nested"])
def test_a_method_that_cannot_have_given_it(made, work):
    """A manifest may name only methods whose releases look like this one."""
    written = _flows(work, f"of-{made}", method=made, k=5)
    manifest = json.loads((written.folder / "manifest.json").read_text(encoding="utf-8"))
    written.folder.with_name(f"of-{made}.audit.json").unlink()
    names = [method.name for method in fv.methods()]

    possible = [name for name in names if passes(written, manifest | {"method": name})]

    one_map = {"atg-dual", "atg-soft", "knapsack", "nested", "mosaic"}
    assert set(possible) == {"mosaic": {"mosaic"}, "mondrian": {"mondrian"}, "nested": one_map}[made]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method_options": {"time_weight": 2.0}}, "has no time to weigh"),
        ({"method_options": {"time_weight": -1.0}}, "method option 'time_weight'"),
        ({"method_options": {"time_weight": 1e300}}, "method option 'time_weight'"),
        ({"method_options": {"budget": "weekly"}}, "method option 'budget'"),
        ({"method_options": {"max_gbar": 3.0}}, "was steered to a precision"),
        ({"method_options": None}, "method_options"),
    ],
)
def test_options_that_do_not_go_with_the_release(options, message, work):
    """Options of a method are checked against what the release is about."""
    folder = work / "typed"
    written = Written(folder, work / "trips.parquet") if folder.exists() else _flows(work, "typed")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rewrite(folder, manifest | {"options": manifest["options"] | options})
    try:
        with pytest.raises(fv.VerificationError, match=message):
            written.verify()
    finally:
        rewrite(folder, manifest)


def test_one_map_may_be_of_another_end_in_each_matrix(work):
    """With a budget for each matrix, nested has its one map where that is better: verify knows."""
    written = _flows(
        work,
        "each",
        hierarchy="h3-binary",
        method="nested",
        k=4,
        count={"by": ["sex"]},
        options={"budget": "each"},
    )
    flows = pq.read_table(written.folder / "flows.parquet")

    assert written.verify().flows == flows.num_rows
