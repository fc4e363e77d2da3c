"""A secret draw hides why areas were not divided: whatever a reader sees, no small part follows for certain."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._flows import People
from flowveil._methods import mosaic
from flowveil._places import ROOT, Hierarchy
from flowveil._problem import Chance, Problem, Requirement
from flowveil._problem.chance import hash_words
from flowveil.synthetic import CITY_BBOX
from tests.trees import family_problems, make_flows, problems

DIGITS = bytes(range(32)).hex()


def test_hash_is_siphash():
    """Its value for eight bytes is that of the authors' own test vectors."""
    message = np.frombuffer(bytes(range(8)), "<u8")

    (hashed,) = hash_words(bytes(range(16)), [message])

    assert int(hashed).to_bytes(8, "little").hex() == "6224939a79f5f593"


def areas_of(problem):
    """Return by end a function from an area to its tiles."""
    families = problem.families
    return [lambda area, family=family: frozenset(family.inside(np.array([area]))[1].tolist()) for family in families]


def gathered(problem, solution, places):
    """Return the flows of a solution with all trips of each in one pair of tiles that it has; nothing else."""
    flows, count = problem.flows, len(solution.origin)
    records = [np.flatnonzero(solution.group == flow) for flow in range(count)]
    chosen = [int(rows[place % len(rows)]) for rows, place in zip(records, places, strict=False)]
    order = sorted(range(count), key=lambda flow: (flows.origin[chosen[flow]], flows.destination[chosen[flow]]))
    rank = {flow: place for place, flow in enumerate(order)}
    people = flows.people
    if people is not None:
        visits = sorted(
            {
                (rank[int(solution.group[pair])], int(person))
                for pair, person in zip(people.pair, people.person, strict=True)
                if solution.group[pair] >= 0
            }
        )
        people = People(*np.array(visits, np.int64).T, people.weight)
    rows = np.array([chosen[flow] for flow in order])
    trips = flows.measure(solution.group, count).trips
    return replace(
        flows,
        origin=flows.origin[rows],
        destination=flows.destination[rows],
        trips=trips[order],
        edges=np.array([0, count]),
        people=people,
        weight=None,
    )


def ways_to(problem, wanted):
    """Return splits of a cube by which exactly the wanted pairs of areas are reached from the top, None if none do."""
    cube, tiles = problem.cube, areas_of(problem)
    sets = [tuple(of(int(area)) for of, area in zip(tiles, node, strict=True)) for node in cube.node.T]
    nodes = [tuple(node) for node in cube.node.T.tolist()]
    number = {node: cell for cell, node in enumerate(nodes)}

    def lies_in(inner, outer):
        return all(one <= other for one, other in zip(sets[number[inner]], sets[outer], strict=True))

    def reach(cell, flows):
        if flows == [nodes[cell]]:
            return []
        links = cube.links
        for split in range(links.first_split[cell], links.first_split[cell + 1]):
            parts = links.part[links.first_part[split] : links.first_part[split + 1]].tolist()
            inside = [[flow for flow in flows if lies_in(flow, part)] for part in parts]
            if links.splittable[split] and sum(map(len, inside)) == len(flows):
                below = [reach(part, own) for part, own in zip(parts, inside, strict=True) if own]
                if None not in below:
                    return [split, *(one for found in below for one in found)]
        return None

    return reach(0, wanted)


def published(problem, solution):
    """Return the trips of each flow."""
    trips = problem.flows.measure(solution.group, len(solution.origin)).trips
    pairs = zip(solution.origin.tolist(), solution.destination.tolist(), strict=True)
    return dict(zip(pairs, trips.tolist(), strict=True))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    problems(loss="tiles") | family_problems(loss="tiles", most_tiles=4),
    st.integers(1, 4),
    st.binary(min_size=16, max_size=16),
    st.permutations(range(30)),
)
def test_every_release_could_come_of_gathered_trips(problem, k, secret, places):
    """Whatever is published, trips that are all in one pair of tiles for each flow give the same, by some draw.

    In these, every pair of areas has no trips or k and more. So nothing that is published excludes that.
    """
    problem = replace(problem, requirement=Requirement(k), chance=Chance(0.9, secret))
    try:
        solution = mosaic.solve(problem)
    except fv.PromiseError:
        reject()
    assume(len(solution.origin))
    flows = gathered(problem, solution, places)
    other = Problem(flows, problem.requirement, problem.budget, several=problem.several)
    open_ways = ways_to(other, list(published(problem, solution)))

    cell = np.repeat(np.arange(len(other.cube)), np.diff(other.cube.links.first_split))
    chances = problem.chance.chances(other.cube, cell, k)[other.cube.links.splittable]
    drawn = np.zeros(len(other.cube.links.splittable), bool)
    drawn[open_ways] = True
    other.__dict__["cube"] = replace(other.cube, links=other.cube.links._replace(splittable=drawn))

    assert ((chances > 0) & (chances < 1)).all()  # so that any draw may happen
    assert published(other, mosaic.solve(other)) == published(problem, solution)


def test_without_a_draw_gathered_trips_give_themselves_away():
    """Two of five trips begin in one half, which proves to be small: in one tile they would be published there."""
    tree = Hierarchy.from_parents(np.array([-1, 0, 0]), np.arange(3, dtype=np.uint64))[0]
    spread, together = (
        [(1, 1, one) for one in range(start)] + [(2, 1, one) for one in range(start, 5)] for start in (2, 0)
    )
    weight = np.zeros(5, np.int64)
    spread, together = (make_flows(tree, tree, trips, weight, has_people=False) for trips in (spread, together))

    found = [mosaic.solve(Problem(flows, Requirement(3), 0)) for flows in (spread, together)]

    assert [one.origin.tolist() for one in found] == [[ROOT], [2]]


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Return a file of trips in a city."""
    path = tmp_path_factory.mktemp("hidden") / "trips.parquet"
    fv.synthetic.write_city(path, trips=3_000, persons=300)
    return path


@pytest.fixture(scope="module")
def flows(trips):
    """Return flows whose hierarchy is left open."""
    return fv.build_flows(trips, "h3:7", unit="person_id", bbox=CITY_BBOX)


@pytest.fixture(scope="module")
def folder(trips, flows):
    """Return a release whose choice is hidden."""
    secret = trips.with_name("secret.txt")
    secret.write_text(DIGITS)
    return fv.anonymize(flows, k=5, hide_choice=0.5, secret=secret).write(trips.with_name("release"))


@pytest.mark.slow
def test_a_secret_makes_the_same_release_again(trips, flows, folder, tmp_path):
    """The secret of the audit file does, whatever the order of rows; another one makes another."""
    table = pq.read_table(trips)
    pq.write_table(table.take(np.random.default_rng(1).permutation(len(table))), tmp_path / "trips.parquet")
    others = fv.build_flows(tmp_path / "trips.parquet", "h3:7", unit="person_id", bbox=CITY_BBOX)
    secret = json.loads(folder.with_name("release.audit.json").read_text())["secret"]
    (tmp_path / "secret.txt").write_text(secret)

    again = fv.anonymize(others, k=5, hide_choice=0.5, secret=tmp_path / "secret.txt").write(tmp_path / "again")
    new = fv.anonymize(flows, k=5, hide_choice=0.5)

    assert secret == DIGITS
    assert (again / "flows.parquet").read_bytes() == (folder / "flows.parquet").read_bytes()
    assert not new.flows.equals(fv.read_release(folder).flows)
    assert new.secret != fv.anonymize(flows, k=5, hide_choice=0.5).secret


def test_areas_are_fixed(flows, folder):
    """Where the hierarchy was left open it is none whose areas follow from the tiles seen; one that does is refused."""
    assert fv.read_release(folder).manifest["options"]["hierarchy"] == "h3-binary"
    with pytest.raises(fv.InputError, match="lattice"):
        fv.anonymize(fv.anonymize(flows, k=5).source, k=5, hide_choice=0.5)


def test_it_is_verified_and_said(trips, folder):
    """The promise is told in words, and verify says that the secret is kept."""
    checks = fv.verify(folder, trips).checks

    assert any("secret" in check for check in checks)
    assert "up to 50 % a secret draw" in fv.read_release(folder).manifest["promise_text"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda manifest, _: manifest["promise"].update(hidden_choice=2), "not a chance"),
        (lambda manifest, _: manifest.update(method="nested"), "do not go with it"),
        (lambda manifest, _: manifest["promise"].pop("hidden_choice"), "promise_text"),
        (lambda _, audit: audit.pop("secret"), "no secret"),
        (lambda manifest, _: manifest.update(description={"title": DIGITS}), "is in manifest.json"),
    ],
)
def test_verify_refuses(trips, folder, tmp_path, change, message):
    """A promise that is none, a secret that is lost, or one that is told."""
    copy = tmp_path / "release"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    manifest, audit = (
        json.loads(path.read_text()) for path in (folder / "manifest.json", folder.with_name("release.audit.json"))
    )
    change(manifest, audit)
    (copy / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    copy.with_name("release.audit.json").write_text(json.dumps(audit))

    with pytest.raises(fv.VerificationError, match=message):
        fv.verify(copy, trips)


@pytest.mark.parametrize("budget", ["whole", "each"])
def test_groups_are_drawn_apart(tmp_path, budget):
    """Two groups with the same trips are not divided alike: one does not tell what the other drew."""
    table = fv.synthetic.City(seed=3).trips(1_500)
    sex = table.column_names.index("sex")
    both = [table.set_column(sex, "sex", [[group] * len(table)]) for group in ("f", "m")]
    for name, part in zip("fm", both, strict=True):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    flows = fv.build_flows(str(tmp_path / "*.parquet"), "h3:7", by="sex", hierarchy="h3-binary", bbox=CITY_BBOX)

    def parted(share):
        release = fv.anonymize(flows, k=5, max_suppression=0, hide_choice=share, options={"budget": budget}).flows
        return [
            {(row["origin"], row["destination"]) for row in release.to_pylist() if row["sex"] == one} for one in "fm"
        ]

    plain, drawn = parted(None), parted(0.9)
    assert plain[0] == plain[1]
    assert drawn[0] != drawn[1]


def test_command_tells_of_it(trips, tmp_path, capsys):
    """With nothing left out the command says what areas tell, unless their choice is hidden."""
    options = ["--grid", "h3:6", "--max-suppression", "0", "--bbox", ",".join(map(str, CITY_BBOX)), "-k", "5"]

    assert run(["anonymize", str(trips), "-o", str(tmp_path / "plain"), *options]) == 0
    assert "--hide-choice" in capsys.readouterr().err
    assert run(["anonymize", str(trips), "-o", str(tmp_path / "hidden"), *options, "--hide-choice", "0.5"]) == 0
    assert "--hide-choice" not in capsys.readouterr().err
