"""The exact attacker: intervals equal those of all integer tables; planted leaks are found, and no others."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli import commands
from flowveil._equations import Bounds, Figures, find_told, list_figures, reduce_equations
from flowveil._risk.exact.layers import Layer
from flowveil._risk.exact.painting import find_atoms
from flowveil._risk.exact.persons import Persons

# --- all integer tables of small cases ---


def all_tables(figures, trips, count):
    """Yield all tables of whole numbers from 0 on with these sums; figures are sets of cells, which cover all cells."""
    left = list(trips)
    holders = [[number for number, cells in enumerate(figures) if cell in cells] for cell in range(count)]
    last = [max((cell for cell in cells), default=-1) for cells in figures]
    table = [0] * count

    def fill(cell):
        if any(left[number] and last[number] < cell for number in range(len(figures))):
            return
        if cell == count:
            yield tuple(table)
            return
        for value in range(min(left[number] for number in holders[cell]) + 1):
            table[cell] = value
            for number in holders[cell]:
                left[number] -= value
            yield from fill(cell + 1)
            for number in holders[cell]:
                left[number] += value
        table[cell] = 0

    yield from fill(0)


def unions(count, most):
    """Return all sets of up to so many of the first numbers."""
    return [chosen for size in range(1, most + 1) for chosen in itertools.combinations(range(count), size)]


def interval_of(blocks, solved, atoms):
    """Return the interval of a union of atoms: of a cell with atoms outside the union any part may be inside."""
    low = high = 0
    for block, bounds in zip(blocks, solved, strict=True):
        whole = [number for number, cell in enumerate(block.cells) if set(cell) <= set(atoms)]
        touched = [number for number, cell in enumerate(block.cells) if set(cell) & set(atoms)]
        low += bounds.interval(whole)[0] if whole else 0
        high += bounds.interval(touched)[1] if touched else 0
    return low, high


@st.composite
def systems(draw):
    """Draw figures over a few atoms that some table has."""
    count = draw(st.integers(2, 6))
    sets = draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1), min_size=1, max_size=5, unique_by=frozenset))
    used = sorted(set().union(*sets))
    figures = [{used.index(atom) for atom in atoms} for atoms in sets]
    table = draw(st.lists(st.integers(0, 4), min_size=len(used), max_size=len(used)))
    return figures, [sum(table[atom] for atom in atoms) for atoms in figures], len(used)


def blocks_of(figures, trips):
    """Return the blocks of figures, and their bounds."""
    atoms = [np.array(sorted(cells), np.int64) for cells in figures]
    blocks = reduce_equations(Figures(atoms, list(trips)))
    return blocks, [Bounds(block) for block in blocks]


@settings(deadline=None, max_examples=40)
@given(systems())
def test_intervals_equal_those_of_all_tables(system):
    """The least and the most of every union of atoms are those over all integer tables with the same figures."""
    figures, trips, count = system
    tables = np.array(list(all_tables(figures, trips, count)))
    blocks, solved = blocks_of(figures, trips)

    for atoms in unions(count, 3):
        sums = tables[:, atoms].sum(axis=1)
        assert interval_of(blocks, solved, atoms) == (sums.min(), sums.max())


@settings(deadline=None, max_examples=60)
@given(systems(), st.integers(2, 6), st.integers(1, 6))
def test_what_is_told_equals_all_tables(system, k, narrow):
    """A set of 1 to k - 1 is found exactly if some union of atoms is one; narrow cells are exactly those there are."""
    figures, trips, count = system
    tables = np.array(list(all_tables(figures, trips, count)))
    blocks, solved = blocks_of(figures, trips)
    told = [find_told(bounds, k, narrow) for bounds in solved]

    sums = [tables[:, list(atoms)].sum(axis=1) for atoms in unions(count, count)]
    assert any(found.certain for found in told) == any(one.min() >= 1 and one.max() < k for one in sums)
    for block, found in zip(blocks, told, strict=True):
        for cells, least, most in found.certain:
            inside = tables[:, [atom for cell in cells for atom in block.cells[cell]]].sum(axis=1)
            assert (inside.min(), inside.max()) == (least, most)
            assert 1 <= least <= most < k
        certain = {cell for cells, _, _ in found.certain for cell in cells}
        close = {}
        for cell, atoms in enumerate(block.cells):
            inside = tables[:, list(atoms)].sum(axis=1)
            if cell not in certain and inside.min() < k and inside.max() and inside.max() - inside.min() < narrow:
                close[cell] = (cell, inside.min(), inside.max())
        assert {one[0]: one for one in found.narrow} == close


# --- layers: figures on places, groups and times ---

ZONES, GROUPS = ("a", "b", "c"), ("f", "m")
OTHER = "other"  # a zone or group that no figure names


CELLS = list(itertools.product((*ZONES, OTHER), (*ZONES, OTHER), (*GROUPS, OTHER)))


@st.composite
def layers_of_figures(draw):
    """Draw layers of figures on three zones and two groups: regions that are nested or apart, and rests of areas."""
    areas = st.sampled_from([frozenset("a"), frozenset("b"), frozenset("ab"), frozenset("abc"), None])
    groups = st.sampled_from([frozenset("f"), frozenset("m"), None])
    layers = []
    for _ in range(draw(st.integers(1, 3))):
        kept = []
        for region in draw(st.lists(st.tuples(areas, areas, groups), min_size=1, max_size=4, unique=True)):
            if all(_nested_or_apart(region, other) for other in kept):
                kept.append(region)
        figures = [(region, False) for region in kept]
        if draw(st.booleans()):
            figures.append(((kept[0][0], None, kept[0][2]), True))
        layers.append(_with_room(figures))
    return layers


def _holds(region, cell):
    return all(part is None or value in part for part, value in zip(region, cell, strict=True))


def _nested_or_apart(one, other):
    first, second = ({cell for cell in CELLS if _holds(region, cell)} for region in (one, other))
    return (one[2] == other[2] and (first < second or second < first)) or not first & second


def _with_room(figures):
    """Leave out figures that nothing is left for."""
    while True:
        seen = {counted(figures, cell) for cell in CELLS}
        if seen.issuperset(range(len(figures))):
            return figures
        figures = [figure for number, figure in enumerate(figures) if number in seen]


def counted(figures, cell):
    """Return the figure of a layer that counts a cell: the smallest; one of the rest only where there is no other."""
    sizes = [sum(_holds(region, other) for other in CELLS) for region, _ in figures]
    inside = [number for number, (region, _) in enumerate(figures) if _holds(region, cell)]
    return min(inside, key=lambda number: (figures[number][1], sizes[number]), default=-1)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(layers_of_figures())
def test_atoms_are_those_of_all_cells(drawn):
    """Atoms are exactly the distinct combinations of figures that pairs of zones of a group have."""
    layers = [
        Layer(
            "layer",
            ([region[0] for region, _ in figures], [region[1] for region, _ in figures]),
            {"column group": [region[2] for region, _ in figures]},
            np.ones(len(figures), np.int64),
            [""] * len(figures),
            rest=np.array([rest for _, rest in figures], bool),
        )
        for figures in drawn
    ]

    atoms = find_atoms(layers)

    signs = {tuple(counted(figures, cell) for figures in drawn) for cell in CELLS}
    assert {tuple(atom) for atom in atoms.tolist()} == {sign for sign in signs if max(sign) >= 0}
    for place, atoms_of in enumerate(list_figures([layer.trips for layer in layers], atoms).atoms[: len(layers[0])]):
        assert (atoms[atoms_of, 0] == place).all()


# --- areas of a grid ---


def test_rectangles_and_cells_of_a_tree_meet_as_their_tiles_do():
    """Of areas of a lattice and of a tree over the same cells it is known which hold and which meet each other."""
    h3 = pytest.importorskip("h3.api.numpy_int")
    from flowveil._places import boxes_of_ids
    from flowveil._risk.exact.ground import cut_axis

    resolution = 4
    top = h3.latlng_to_cell(48.2, 16.4, 2)
    tiles = [h3.int_to_str(cell) for cell in h3.cell_to_children(top, resolution)]
    low, _ = boxes_of_ids([*tiles, "l:0/0/0/0/0"], resolution)
    base, x, y = low[:-1].mean(axis=0).astype(int).tolist()
    rectangles = [f"l:{base}/{a}/{b}/{x >> a}/{y >> b}" for a in (1, 2) for b in (1, 2)]
    nodes = [h3.int_to_str(top), *(h3.int_to_str(cell) for cell in h3.cell_to_children(top, 3)), f"{tiles[0]}"]
    nodes.append(f"{h3.int_to_str(top)}:13")

    axis = cut_axis([*rectangles, *nodes], resolution)

    inside = {}
    every, _ = boxes_of_ids([*tiles, "l:0/0/0/0/0"], resolution)
    for area in rectangles:
        start, end = boxes_of_ids([area], resolution)
        inside[area] = {
            tile for tile, spot in zip(tiles, every, strict=False) if (start <= spot).all() and (spot < end).all()
        }
    runs = boxes_of_ids(tiles)[0]
    for area in nodes:
        start, end = boxes_of_ids([area])
        inside[area] = {
            tile for tile, spot in zip(tiles, runs, strict=True) if (start <= spot).all() and (spot < end).all()
        }
    classes = {area: set(axis.classes[axis.number[area]].tolist()) for area in (*rectangles, *nodes)}
    for one, other in itertools.product(rectangles, nodes):
        assert bool(classes[one] & classes[other]) == bool(inside[one] & inside[other])
        if inside[one] and inside[one] <= inside[other] and len(inside[one]) == 2 ** sum(map(int, one.split("/")[1:3])):
            assert classes[one] <= classes[other]
        assert (classes[other] <= classes[one]) == (inside[other] <= inside[one])


# --- releases ---

AREAS = {"a": ["a"], "b": ["b"], "c": ["c"], "ab": ["a", "b"], "abc": ["a", "b", "c"], "all": None, "elsewhere": None}
AREAS |= {"r:1": None, "r:2": None}
BOX = shapely.to_wkb(shapely.box(4.4, 50.2, 4.5, 50.3))


def write(folder, rows, *, k=10, by=(), **promise):
    """Write a release of flows between zones: rows of origin, destination, groups, trips (and persons)."""
    folder.mkdir()
    names = ["origin", "destination", *by, "trips", "persons"][: len(rows[0])]
    flows = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    if "remainders" in promise:
        flows["remainder"] = [False] * len(rows)
    pq.write_table(pa.table(flows), folder / "flows.parquet")
    used = [
        (area, side)
        for place, side in enumerate(("origin", "destination"))
        for area in sorted({row[place] for row in rows})
    ]
    areas = {
        "area": [area for area, _ in used],
        "side": [side for _, side in used],
        "lon": pa.nulls(len(used), pa.float64()),
        "lat": pa.nulls(len(used), pa.float64()),
        "tiles": pa.nulls(len(used), pa.int64()),
        "members": pa.array([AREAS[area] for area, _ in used], pa.list_(pa.string())),
        "geometry": pa.array([BOX if "shapes" in promise else None] * len(used), pa.binary()),
    }
    pq.write_table(pa.table(areas), folder / "areas.parquet")
    unit = "person_id" if "persons" in flows else "trip"
    manifest = {
        "format": "flowveil-flows/1",
        "software": "flowveil",
        "method": "mosaic",
        "options": {"hierarchy": "ward", **({"by": list(by)} if by else {})},
        "promise": {"kind": "k-anonymity", "k": k, "unit": unit, "volumes": "exact", "areas": "disjoint", **promise},
        "promise_text": "",
        "absence": "",
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def attack(folder, **options):
    """Return what the exact attacker finds."""
    (finding,) = fv.risk(folder, attacks="exact", **options).findings
    return finding


def test_total_less_a_group(tmp_path):
    """A total of 18 of which 15 are men tells of 3 others."""
    rows = [("a", "b", "m", 15, 12), ("a", "b", "total", 18, 14)]

    finding = attack(write(tmp_path / "out", rows, by=["sex"], totals=True))

    assert (finding.verdict, finding.figure) == ("breaks", 1)
    assert finding.details["examples"] == [
        {"where": "a to b (total) less a to b (m)", "trips": [3, 3], "persons": [2, 3]}
    ]


def test_total_less_a_crowd_holds(tmp_path):
    """A total that leaves a crowd tells of nobody, and neither do groups without it."""
    rows = [("a", "b", "m", 15), ("a", "b", "total", 27)]

    assert attack(write(tmp_path / "out", rows, by=["sex"], totals=True)).verdict == "holds"
    assert attack(write(tmp_path / "alone", rows[:1], by=["sex"])).verdict == "holds"


def test_area_of_another_release_less_its_part(tmp_path):
    """A larger area of a second release less the smaller one of the first tells of what lies between."""
    small, large = write(tmp_path / "small", [("a", "c", 15)]), write(tmp_path / "large", [("ab", "c", 19)])

    assert attack(small).verdict == attack(large).verdict == "holds"
    for one, other in ((small, large), (large, small)):
        finding = attack(one, beside=other)
        assert (finding.verdict, finding.figure, finding.details["examples"][0]["trips"]) == ("breaks", 1, [4, 4])


def test_three_releases_that_pass_two_by_two(tmp_path):
    """What three releases tell together is found, though any two of them tell nothing."""
    whole = write(tmp_path / "whole", [("abc", "a", 40)])
    one, two = write(tmp_path / "one", [("a", "a", 20)]), write(tmp_path / "two", [("b", "a", 16)])

    for first, second in itertools.combinations((whole, one, two), 2):
        assert attack(first, beside=second).verdict == "holds"
    finding = attack(whole, beside=[one, two])
    assert (finding.verdict, finding.details["examples"][0]["trips"]) == ("breaks", [4, 4])


def test_rest_of_an_area_and_remainders(tmp_path):
    """A flow to elsewhere counts what no other flow does, and a remainder what no finer one does."""
    rest = write(tmp_path / "rest", [("a", "b", 15), ("a", "elsewhere", 12)], elsewhere=True)
    row = write(tmp_path / "row", [("a", "abc", 25)])
    inner = write(tmp_path / "inner", [("ab", "c", 30, 30), ("a", "c", 12, 12)], remainders=True)
    whole = write(tmp_path / "whole", [("ab", "c", 45)])

    # 25 to a, b and c, of which 15 to b: 10 to a and c; of the 12 that went elsewhere 2 went to none of the three.
    assert attack(rest).verdict == "holds"
    assert attack(rest, beside=row).details["examples"][0]["trips"] == [2, 2]
    # 30 others and 12 are 42 of the 45: they contradict each other, since both count all trips from ab to c.
    assert attack(inner).verdict == "holds"
    with pytest.raises(fv.InputError, match="contradict"):
        attack(inner, beside=whole)


def test_known_figures_tell_what_is_hidden(tmp_path):
    """All trips from a place, known from elsewhere, less its flows are those that were left out."""
    folder = write(tmp_path / "out", [("a", "b", 15), ("b", "a", 30), ("c", "c", 20)])
    table = tmp_path / "margins.csv"
    table.write_text("origin,destination,trips\na,,18\n,a,45\nb,c,3\n")

    finding = attack(folder, margins=table)

    assert (finding.verdict, finding.figure) == ("breaks", 1)  # b to c was given: it is no news
    assert finding.details["examples"] == [{"where": "a to everywhere less a to b", "trips": [3, 3]}]
    assert attack(folder, margins=pa.table({"origin": ["a"], "trips": [40]})).verdict == "holds"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("origin,count\na,3\n", "no column 'trips'"),
        ("origin,trips\na,some\n", "number of trips"),
        ("origin,trips\na,-3\n", "number of trips"),
        ("origin,trips\nz,3\n", "'z'"),
        ("origin,hour,trips\na,3,3\n", "hour"),
    ],
)
def test_known_figures_are_checked(tmp_path, text, message):
    """A table that cannot be read is an error that says why."""
    folder = write(tmp_path / "out", [("a", "b", 15)])
    (tmp_path / "margins.csv").write_text(text)

    with pytest.raises(fv.InputError, match=message):
        attack(folder, margins=tmp_path / "margins.csv")


def test_narrow_intervals_are_told_of(tmp_path):
    """Hidden trips that are known to within a few are told of if they may be fewer than k."""
    one = write(tmp_path / "one", [("a", "ab", 20), ("b", "ab", 17)])
    two = write(tmp_path / "two", [("ab", "a", 22), ("ab", "b", 15)])

    assert attack(one, beside=two).verdict == "holds"  # of a to a there are 5 to 20, and so on: all are 15 wide
    assert attack(one, beside=two, narrow=15).verdict == "holds"
    finding = attack(one, beside=two, narrow=16)
    assert (finding.verdict, finding.figure, finding.details["narrow"]) == ("tells", 0, 4)


def test_nothing_left_out_is_known(tmp_path):
    """Where nothing was left out, a pair that no flow covers is empty."""
    rows = [("a", "b", 15), ("b", "all", 20)]
    other = write(tmp_path / "other", [("ab", "b", 19)])

    assert attack(write(tmp_path / "some", rows), beside=other).details["examples"][0]["trips"] == [4, 4]
    assert attack(write(tmp_path / "all", rows, max_suppression=0), beside=other).details["atoms"] == 3


def test_what_cannot_be_laid_over_is_said(tmp_path):
    """A release with other areas is not ignored in silence."""
    folder = write(tmp_path / "out", [("a", "b", 15)])
    other = write(tmp_path / "boxes", [("r:1", "r:2", 18)], shapes="rectangles")

    finding = attack(folder, beside=other)

    assert finding.verdict == "holds"
    assert "boxes (areas are rectangles of degrees)" in finding.sentence


def test_command_takes_tables_and_widths(tmp_path, capsys):
    """The command line takes a table of known figures, and the width of intervals."""
    folder = write(tmp_path / "out", [("a", "b", 15)])
    (tmp_path / "margins.csv").write_text("origin;trips\na;18\n")
    typed = ["risk", str(folder), "--with", str(tmp_path / "margins.csv"), "--narrow", "2", "--attacks", "exact"]

    assert commands.run([*typed, "--json", "--fail-on", "breaks"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["parameters"] == {"k": 10, "narrow": 2}
    assert commands.run([*typed[:-4], "--narrow", "0"]) == 2


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_persons_lie_between_their_bounds(data):
    """The persons of a difference lie between the bounds that persons and trips of the two flows give."""
    trips = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=12)
    )  # place, person
    inner = [person for place, person in trips if place == 0]
    hidden = [person for place, person in trips if place > 0]
    layers = [
        Layer("", ([None], [None]), {}, np.array([len(own)]), [""], np.array([len(set(own))]))
        for own in ([person for _, person in trips], inner)
    ]
    figures = Figures([np.array([0, 1]), np.array([0])], [len(trips), len(inner)])

    least, most = Persons(layers, figures).between(frozenset([1]), len(hidden), len(hidden), {0: 1, 1: -1})

    assert least <= len(set(hidden)) <= most


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """Return a folder with trips of a synthetic city."""
    work = tmp_path_factory.mktemp("exact")
    fv.synthetic.write_city(work / "trips.parquet", trips=4_000, persons=400)
    return work


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({"by": "sex"}, {"totals": True}),
        ({"time": "hour-of-day"}, {"elsewhere": True}),
        pytest.param({}, {"remainders": True}, marks=pytest.mark.slow),
        pytest.param({"time_hierarchy": "hour-of-day<part-of-day<day"}, {}, marks=pytest.mark.slow),
    ],
)
def test_releases_of_flowveil_hold(city, tmp_path, options, typed):
    """No group of 1 to k - 1 is certain in releases with totals, elsewhere, remainders or a hierarchy of time."""
    flows = fv.build_flows(city / "trips.parquet", "h3:7", hierarchy="h3", unit="person_id", **options)
    release = fv.anonymize(flows, k=5, **typed).write(tmp_path / "out")

    finding = attack(release)

    assert (finding.figure, finding.details["left_out"]) == (0, [])
    assert finding.verdict != "breaks"


@pytest.mark.slow
def test_releases_beside_each_other_hold(city, tmp_path):
    """A release by groups beside one of all tells of nobody; without the check it does."""
    whole = fv.build_flows(city / "trips.parquet", "h3:7", hierarchy="h3")
    groups = fv.build_flows(city / "trips.parquet", "h3:7", hierarchy="h3", by="sex")
    first = fv.anonymize(whole, k=5).write(tmp_path / "first")
    beside = fv.anonymize(groups, k=5, beside=first, max_suppression=1).write(tmp_path / "beside")
    careless = fv.anonymize(groups, k=5).write(tmp_path / "careless")

    assert attack(first, beside=beside).figure == 0
    assert attack(first, beside=careless).verdict == "breaks"
