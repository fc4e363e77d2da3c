"""Trips that lie where nobody is are told of, with their share; plausible ones are not."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import flowveil as fv
from flowveil._cli.commands import run

ENDS = ("start", "end")
CITIES = {"Brussels": (4.35, 50.85), "Chicago": (-87.63, 41.88), "Rome": (12.5, 41.9), "Sydney": (151.1, -33.85)}


def trips(middle, rows=400):
    """Return the columns of trips within a city."""
    chance = np.random.default_rng(5)
    return {
        f"{end}_{axis}": place + chance.normal(0, 0.03, rows)
        for end in ENDS
        for axis, place in zip(("lon", "lat"), middle, strict=True)
    }


def exchanged(columns, share):
    """Return the first rows with longitude and latitude exchanged."""
    some = np.arange(len(columns["start_lon"])) < share * len(columns["start_lon"])
    other = {"lon": "lat", "lat": "lon"}
    return {name: np.where(some, columns[f"{name[:-3]}{other[name[-3:]]}"], columns[name]) for name in columns}


def heard(columns, **options):
    """Return what Python warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fv.build_flows(pa.table(columns), "h3:8", **options)
    assert {warning.category for warning in caught} <= {fv.ImplausiblePlacesWarning}
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("city", CITIES)
def test_cities_pass_in_silence(city):
    """Trips inside a city are nothing to wonder about."""
    assert heard(trips(CITIES[city])) == []


@pytest.mark.parametrize("city", ["Brussels", "Chicago", "Rome"])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_exchanged_rows(city, share):
    """Rows with longitude and latitude exchanged are found, wherever that leads, and their share is told."""
    (text,) = heard(exchanged(trips(CITIES[city]), share))

    assert text.startswith(f"{share:.0%} of the ends of trips lie")
    assert "exchanged" in text


@pytest.mark.parametrize("city", ["Brussels", "Chicago", "Rome"])
def test_exchanged_columns(city):
    """All rows the wrong way round fall into the sea, the desert or the ice."""
    (text,) = heard(exchanged(trips(CITIES[city]), 1))

    assert text.startswith("100% of the ends of trips lie in the sea, a desert or the ice")
    assert "columns=start_lon" in text


def test_nothing_known():
    """Origins at 0, 0 are half of all ends."""
    columns = trips(CITIES["Rome"])
    columns |= {"start_lon": np.zeros(400), "start_lat": np.zeros(400)}

    (text,) = heard(columns)
    assert text.startswith("50% of the ends of trips lie at longitude 0, latitude 0")


def test_in_the_sea():
    """An ocean that no exchange explains is told as such."""
    (text,) = heard(trips((-30.0, 45.0)))

    assert text.startswith("100% of the ends of trips lie more than")
    assert "bbox=" in text


def test_far_from_all_others():
    """A few trips to another continent blow up areas; less than one in a thousand ends is no news."""
    columns = trips(CITIES["Brussels"], 2000)
    columns["end_lon"][:40], columns["end_lat"][:40] = CITIES["Chicago"]
    (text,) = heard(columns)
    few = trips(CITIES["Brussels"], 2000)
    few["end_lon"][:2], few["end_lat"][:2] = CITIES["Chicago"]

    assert text.startswith("1.0% of the ends of trips lie far from all others")
    assert heard(few) == []


def test_zones_are_looked_at_too():
    """Zones with exchanged columns are found by the trips between them."""
    zones = pa.table({"zone_id": ["a", "b"], "lon": [41.9, 41.8], "lat": [-87.6, -87.7]})
    with pytest.warns(fv.ImplausiblePlacesWarning, match="exchanged"):
        fv.build_flows(pa.table({"origin": ["a"] * 9, "destination": ["b"] * 9}), zones=zones)


def test_terminal_and_folder(tmp_path, capsys):
    """The terminal warns and the private audit file remembers; the folder says nothing."""
    source = tmp_path / "trips.csv"
    columns = exchanged(trips(CITIES["Chicago"]), 1)
    source.write_text(
        ",".join(columns) + "\n" + "\n".join(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
    )

    code = run(["anonymize", str(source), "--grid", "h3:6", "--hierarchy", "h3", "-o", str(tmp_path / "out")])
    assert code == 0
    assert "warning: 100% of the ends of trips lie in the sea" in capsys.readouterr().err
    assert "exchanged" in (tmp_path / "out.audit.json").read_text()
    assert "exchanged" not in (tmp_path / "out" / "manifest.json").read_text()
