"""Hypothesis strategies for small problems, and the plain definitions that solvers are checked against."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import strategies as st

from flowveil._flows import WEIGHT_UNIT, Flows, People
from flowveil._places import ROOT, Family, Hierarchy, meters_between
from flowveil._problem import LOSSES, Problem, Requirement


class PointPlaces:
    """Places whose nodes lie at points that follow from their keys; the root has none unless asked for."""

    top = "all"
    by_zone = True

    def __init__(self, root_has_center):
        self.root_has_center = root_has_center
        self.families = []

    def family(self, tree):
        """Return the family whose first tree this is."""
        return next((family for family in self.families if family.trees[0] is tree), Family.of(tree))

    def centers(self, hierarchy, nodes):
        """Return lon and lat of nodes."""
        key = hierarchy.key[nodes].astype(float)
        lon, lat = key * 7 % 11, key * 5 % 13
        if not self.root_has_center:
            lon[nodes == ROOT] = np.nan
        return lon, lat

    def sizes(self, hierarchy, nodes):
        """Return sizes of nodes; some are larger than what holds them, as a bbox may be smaller than areas in it."""
        return 0.25 + hierarchy.key[nodes].astype(float) * 5 % 7


@st.composite
def hierarchies(draw, most_nodes=7):
    """Draw a tree of any shape: uneven depths, single children."""
    count = draw(st.integers(1, most_nodes))
    parent = [-1] + [draw(st.integers(max(0, node - 3), node - 1)) for node in range(1, count)]
    key = draw(st.permutations(range(count)))
    return Hierarchy.from_parents(np.array(parent), np.array(key, np.uint64))[0]


@st.composite
def families(draw, most_tiles=5, most_trees=3):
    """Draw trees over the same tiles as a family; an area's key has a bit for each of its tiles, the root's none."""
    tiles = list(range(draw(st.integers(1, most_tiles))))
    return Family.join([draw(trees_over(tiles)) for _ in range(draw(st.integers(1, most_trees)))])


@st.composite
def trees_over(draw, tiles):
    """Draw a tree over tiles: every area is parted at random, down to single tiles."""
    parent, areas = [-1], [draw(st.permutations(tiles))]
    for node, area in enumerate(areas):
        if len(area) > 1 or node == ROOT:
            cuts = draw(st.sets(st.integers(1, len(area) - 1), min_size=1)) if len(area) > 1 else set()
            parts = [area[start:stop] for start, stop in itertools.pairwise([0, *sorted(cuts), len(area)])]
            areas += parts
            parent += [node] * len(parts)
    key = [0, *(sum(1 << tile for tile in area) for area in areas[1:])]
    return Hierarchy.from_parents(np.array(parent), np.array(key, np.uint64))[0]


@st.composite
def flows_between(draw, origins, destinations, *, most_trips=30, people=None):
    """Draw trips between the leaves of two trees, with or without persons and weights."""
    first, second = (np.flatnonzero(tree.is_leaf).tolist() for tree in (origins, destinations))
    count = draw(st.integers(1, most_trips))
    trips = draw(
        st.lists(
            st.tuples(st.sampled_from(first), st.sampled_from(second), st.integers(0, 5)),
            min_size=count,
            max_size=count,
        )
    )
    weight = np.array(draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))) * WEIGHT_UNIT
    has_people = draw(st.booleans()) if people is None else people
    return make_flows(origins, destinations, trips, weight, has_people, PointPlaces(draw(st.booleans())))


def make_flows(origins, destinations, trips, weight, has_people, places=None):
    """Count trips (origin leaf, destination leaf, person) by tile pair."""
    pairs = sorted({(origin, destination) for origin, destination, _ in trips})
    number = {pair: place for place, pair in enumerate(pairs)}
    made = Counter((number[origin, destination], person) for origin, destination, person in trips)
    visits = sorted(made)
    counts = np.zeros(len(pairs), np.int64)
    weights = np.zeros(len(pairs), np.int64)
    for origin, destination, person in trips:
        counts[number[origin, destination]] += 1
        weights[number[origin, destination]] += weight[person]
    pair, person = np.ascontiguousarray(np.array(visits, np.int64).T)
    return Flows(
        places=places or PointPlaces(root_has_center=True),
        origins=origins,
        destinations=destinations,
        origin=np.array([origin for origin, _ in pairs], np.int64),
        destination=np.array([destination for _, destination in pairs], np.int64),
        trips=counts,
        edges=np.array([0, len(pairs)]),
        weight=weights,
        people=People(pair, person, weight, np.array([made[v] for v in visits], np.int32)) if has_people else None,
    )


requirements = st.builds(
    Requirement,
    k=st.integers(1, 5),
    k_weight=st.none() | st.integers(1, 6),
    min_tiles=st.integers(1, 2),
)


@st.composite
def problems(draw, *, most_nodes=7, most_trips=30, loss=None):
    """Draw a problem with any loss and any tests."""
    flows = draw(flows_between(draw(hierarchies(most_nodes)), draw(hierarchies(most_nodes)), most_trips=most_trips))
    budget = draw(st.integers(0, flows.total))
    return Problem(flows, draw(requirements), budget, loss=loss or draw(st.sampled_from(LOSSES)))


@st.composite
def family_problems(draw, *, most_tiles=5, most_trips=30, loss=None, people=None):
    """Draw a problem whose areas may be split in several ways, with any loss and any tests."""
    ends = draw(families(most_tiles)), draw(families(most_tiles))
    flows = draw(flows_between(ends[0].trees[0], ends[1].trees[0], most_trips=most_trips, people=people))
    flows.places.families += ends
    budget = draw(st.integers(0, flows.total))
    loss = loss or draw(st.sampled_from(LOSSES))
    return Problem(flows, draw(requirements), budget, loss=loss, several=True)


@st.composite
def matrices_apart(draw, most=3):
    """Draw flows between the same families, with the same persons or none: one matrix each."""
    ends, people = (draw(families(4)), draw(families(4))), draw(st.booleans())
    between = flows_between(ends[0].trees[0], ends[1].trees[0], people=people)
    apart = draw(st.lists(between, min_size=1, max_size=most))
    for flows in apart:
        flows.places.families += ends
    if not people:
        return apart
    weight = apart[0].people.weight
    return [replace(flows, people=replace(flows.people, weight=weight)) for flows in apart]


def side_by_side(apart):
    """Return flows as matrices of one."""
    before = np.cumsum([0, *(len(flows) for flows in apart)])
    columns = {
        name: np.concatenate([getattr(flows, name) for flows in apart])
        for name in ("origin", "destination", "trips", "weight")
    }
    people = [flows.people for flows in apart]
    if people[0] is not None:
        pair = np.concatenate([who.pair + start for who, start in zip(people, before, strict=False)])
        person, trips = (np.concatenate([getattr(who, name) for who in people]) for name in ("person", "trips"))
        columns["people"] = People(pair, person, people[0].weight, trips)
    return replace(apart[0], edges=before, **columns)


prices = st.integers(0, 40) | st.floats(0, 2000, allow_nan=False)


@dataclass(eq=False)
class Oracle:
    """The definitions of methods.md, computed from single tile pairs."""

    problem: Problem

    def __post_init__(self):
        self.trees = (self.problem.flows.origins, self.problem.flows.destinations)
        several = self.problem.several
        self.families = [self.problem.flows.places.family(tree) if several else Family.of(tree) for tree in self.trees]
        self.leaves = [self._leaves_of_areas(family) for family in self.families]
        self.cell = cache(self.cell)
        self.mosaics = cache(self.mosaics)

    def _leaves_of_areas(self, family):
        """Return by area its tiles, as leaves of the first tree; every tree that has it has the same ones."""
        first, leaves = family.trees[0], {}
        leaf_of = {int(first.key[leaf]): leaf for leaf in np.flatnonzero(first.is_leaf).tolist()}
        for tree, number in zip(family.trees, family.number, strict=True):
            for node, area in enumerate(number.tolist()):
                tiles = {leaf_of[int(tree.key[leaf])] for leaf in self._leaves(tree, node)}
                assert leaves.setdefault(area, tiles) == tiles
        return [leaves[area] for area in range(len(family))]

    @staticmethod
    def _leaves(tree, node):
        below = set()
        for leaf in np.flatnonzero(tree.is_leaf).tolist():
            path = leaf
            while path >= 0 and path != node:
                path = int(tree.parent[path])
            if path == node:
                below.add(leaf)
        return below

    def inside(self, origin, destination):
        """Return the tile pairs under a pair of nodes."""
        flows = self.problem.flows
        return [
            row
            for row in range(len(flows))
            if flows.origin[row] in self.leaves[0][origin] and flows.destination[row] in self.leaves[1][destination]
        ]

    def cell(self, origin, destination):
        """Return trips, whether the tests pass, and loss (infinite if not available) of a pair of nodes."""
        flows, requirement = self.problem.flows, self.problem.requirement
        rows = self.inside(origin, destination)
        trips = int(flows.trips[rows].sum())
        if flows.people is None:
            crowd, weight = trips, int(flows.weight[rows].sum())
        else:
            persons = {int(p) for r, p in zip(flows.people.pair, flows.people.person, strict=True) if r in rows}
            crowd, weight = len(persons), int(sum(flows.people.weight[p] for p in persons))
        tiles = [len(self.leaves[0][origin]), len(self.leaves[1][destination])]
        good = crowd >= requirement.k and min(tiles) >= requirement.min_tiles
        if requirement.k_weight is not None:
            good = good and weight >= requirement.k_weight * WEIGHT_UNIT
        if requirement.max_share is not None and self.share(rows) > Fraction(str(requirement.max_share)):
            return trips, good, float("inf")
        return trips, good, self._loss(origin, destination, rows, tiles)

    def share(self, rows):
        """Return the largest share of the trips of some tile pairs that one person makes."""
        people, made = self.problem.flows.people, Counter()
        for row, person, trips in zip(people.pair, people.person, people.trips, strict=True):
            made[int(person)] += int(trips) if row in rows else 0
        return Fraction(max(made.values()), max(sum(made.values()), 1))

    def _loss(self, origin, destination, rows, tiles):
        flows = self.problem.flows
        trips = int(flows.trips[rows].sum())
        if self.problem.loss == "tiles":
            return float(sum(tiles) * trips)
        if self.problem.loss == "reconstruction":
            mean = trips / (tiles[0] * tiles[1])
            table = dict.fromkeys(itertools.product(self.leaves[0][origin], self.leaves[1][destination]), 0)
            for row in rows:
                table[int(flows.origin[row]), int(flows.destination[row])] = int(flows.trips[row])
            return sum(abs(mean - value) for value in table.values())
        if self.problem.loss == "area":
            ends = zip(self.families, (origin, destination), strict=True)
            return trips * float(sum(flows.places.sizes(tree, np.array([node]))[0] for tree, node in ends))
        total = 0.0
        for family, area, leaf in (
            (self.families[0], origin, flows.origin[rows]),
            (self.families[1], destination, flows.destination[rows]),
        ):
            here = flows.places.centers(family.trees[0], leaf)
            there = flows.places.centers(family, np.full(len(rows), area))
            total += float(meters_between(*here, *there) @ flows.trips[rows])
        return float("inf") if np.isnan(total) else total

    @property
    def withheld(self):
        """What a withheld trip costs apart from lambda."""
        return 1.0 if self.problem.loss == "reconstruction" else 0.0

    def mean(self, outcome):
        """Return the loss of an outcome (loss, suppressed) by published trip; where withheld ones lose too, by trip."""
        loss, suppressed = outcome
        trips = self.problem.flows.total - (0 if self.withheld else suppressed)
        return loss / trips if trips else float("inf")

    def least_mean(self, outcomes):
        """Return the least mean of outcomes within the budget, None if there are none."""
        return min((self.mean(outcome) for outcome in outcomes if outcome[1] <= self.problem.budget), default=None)

    def drop(self, trips):
        """Return the only outcome (loss, suppressed) of withholding trips."""
        return {(self.withheld * trips, trips)}

    def mosaics(self, origin, destination):
        """Return (loss, suppressed) of every guillotine cut of a pair of nodes."""
        trips, good, loss = self.cell(origin, destination)
        if not good:
            return self.drop(trips)
        found = {(loss, 0)} if np.isfinite(loss) else set()
        for axis, node in enumerate((origin, destination)):
            for parts in self.ways(axis, node):
                found |= add_up([self.mosaics(p, destination) if axis == 0 else self.mosaics(origin, p) for p in parts])
        return found or self.drop(trips)

    def nested(self, first):
        """Return (loss, suppressed) of every cut of the first axis with a cut of the other for each area."""
        outcomes = set()
        for cut in self.cuts(first, ROOT):
            outcomes |= add_up([self.second(first, area, ROOT) for area in cut])
        return outcomes

    def second(self, first, area, node):
        """Return (loss, suppressed) of every cut of the other axis for one area of the first."""
        trips, good, loss = self.cell(area, node) if first == 0 else self.cell(node, area)
        if not good:
            return self.drop(trips)
        found = {(loss, 0)} if np.isfinite(loss) else set()
        for parts in self.ways(1 - first, node):
            found |= add_up([self.second(first, area, part) for part in parts])
        return found or self.drop(trips)

    def cuts(self, axis, node):
        """Return every cut of an area, each a tuple of areas."""
        found = [(node,)]
        for parts in self.ways(axis, node):
            cuts = itertools.product(*(self.cuts(axis, part) for part in parts))
            found += [tuple(itertools.chain(*cut)) for cut in cuts]
        return found

    def ways(self, axis, area):
        """Return the ways to split an area, each a sorted tuple of areas: those of all trees, each once."""
        family, found = self.families[axis], []
        for tree, number in zip(family.trees, family.number, strict=True):
            for node in np.flatnonzero(number == area).tolist():
                parts = tuple(sorted(number[tree.first_child[node] : tree.end_child[node]].tolist()))
                found += [parts] if parts and parts not in found else []
        return found

    def children(self, axis, node):
        """Return the children of a node."""
        tree = self.trees[axis]
        return list(range(int(tree.first_child[node]), int(tree.end_child[node])))

    def grid(self, first, second):
        """Return (loss, suppressed) of the cross product of two cuts."""
        loss, suppressed = 0.0, 0
        for origin, destination in itertools.product(first, second):
            trips, good, cost = self.cell(origin, destination)
            if good and np.isfinite(cost):
                loss += cost
            else:
                loss += self.withheld * trips
                suppressed += trips
        return loss, suppressed

    def outcome(self, solution):
        """Check that a solution keeps the promise and counts its trips exactly; return (loss, suppressed)."""
        flows = self.problem.flows
        loss, published = 0.0, 0
        pairs = list(zip(solution.origin.tolist(), solution.destination.tolist(), strict=True))
        assert pairs == sorted(set(pairs))
        for flow, (origin, destination) in enumerate(pairs):
            trips, good, cost = self.cell(origin, destination)
            assert good
            assert np.isfinite(cost)
            assert np.flatnonzero(solution.group == flow).tolist() == self.inside(origin, destination)
            loss += cost
            published += trips
        suppressed = flows.total - published
        assert suppressed == int(flows.trips[solution.group < 0].sum())
        return loss + self.withheld * suppressed, suppressed


def add_up(parts):
    """Return all sums of one outcome from each part."""
    sums = {(0.0, 0)}
    for part in parts:
        sums = {(round(a + c, 6), b + d) for (a, b), (c, d) in itertools.product(sums, part)}
    return sums
