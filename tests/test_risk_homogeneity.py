"""The attack that finds origins from which everybody goes to the same place."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
import shapely

import flowveil as fv


def zones(side=0.0027):
    """Return a row of square zones with sides of some degrees (300 meters), two a town."""
    names = list("abcdef")
    boxes = [shapely.box(side * place, 0, side * (place + 1), side) for place in range(6)]
    towns = [f"t{place // 2}" for place in range(6)]
    return pa.table({"zone": names, "town": towns, "geometry": pa.array([shapely.to_wkb(box) for box in boxes])})


def release(tmp_path, rows, side=0.0027, **asked):
    """Write a release of trips (origin, destination, how many) of different persons."""
    ends = [(origin, destination) for origin, destination, count in rows for _ in range(count)]
    columns = {"origin": [o for o, _ in ends], "destination": [d for _, d in ends]}
    table = pa.table(columns | {"person": [f"p{n}" for n in range(len(ends))]})
    flows = fv.build_flows(table, zones=zones(side), hierarchy=["zone", "town"], unit="person")
    return fv.anonymize(flows, k=5, max_suppression=0.2, **asked).write(tmp_path / "out"), table


def look(folder, table=None):
    """Return what the attack finds."""
    options = {} if table is None else {"zones": zones()}
    (finding,) = fv.risk(folder, table, attacks="homogeneity", **options).findings
    return finding


def test_all_who_go_to_one_place_are_found(tmp_path):
    """From a all go to the zone c; from b they go to three zones alike."""
    rows = [("a", "c", 9), ("b", "c", 6), ("b", "d", 6), ("b", "e", 6)]
    folder, table = release(tmp_path, rows)

    finding, scored = look(folder), look(folder, table)

    assert (finding.figure, finding.verdict, finding.private) == (1, "tells", False)
    assert finding.details["origins"] == 2
    assert finding.details["fewest_destinations_in_effect"] == pytest.approx(1)
    assert finding.details["median_destinations_in_effect"] == pytest.approx((1 + 3) / 2)
    # From a: all to c, against 15, 6 and 6 of 27 overall.
    assert finding.details["largest_distance_from_all"] == pytest.approx(12 / 27)
    assert scored.details["true_share_of_nearly_all"] == 1.0
    assert scored.private


def test_destinations_of_many_hold(tmp_path):
    """From both origins people go to three zones: nothing is told of one of them."""
    folder, _ = release(tmp_path, [(origin, end, 6) for origin in "ab" for end in "cde"])

    finding = look(folder)

    assert (finding.figure, finding.verdict, finding.advice) == (0, "holds", "")
    assert finding.details["median_destinations_in_effect"] == pytest.approx(3)
    assert finding.details["largest_distance_from_all"] == pytest.approx(0)


@pytest.mark.parametrize(("side", "found"), [(0.0027, 1), (0.009, 0)])
def test_large_areas_are_no_place(tmp_path, side, found):
    """All go to one town: of 0.2 square kilometers it is a place, of 2 it is none."""
    rows = [(origin, end, 9) for origin in "ab" for end in "cd"]
    folder, _ = release(tmp_path, rows, side, min_tiles=2)

    finding = look(folder)

    assert (finding.figure, finding.verdict) == (found, "tells" if found else "holds")


def test_flows_from_larger_areas_count_for_the_smaller_ones(tmp_path):
    """Somebody from a may be in the flow of a's town too: that flow, spread, is a part of the table of a reader."""
    rows = [("a", "c", 8), ("a", "e", 3), ("b", "e", 3)]
    folder, _ = release(tmp_path, rows)

    finding = look(folder)

    spread = {"c": 8.0, "e": 6.0}  # the town's flow goes to e; it holds one site, a
    shares = [value / sum(spread.values()) for value in spread.values()]
    assert finding.details["fewest_destinations_in_effect"] == pytest.approx(
        math.exp(-sum(share * math.log(share) for share in shares))
    )
