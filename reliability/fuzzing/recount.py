"""A release counted again in plain pandas, from raw rows and published files: written fresh, nothing of flowveil in it.

What docs/releases.md, docs/places.md and docs/time-and-groups.md tell readers is all that it knows.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import h3
import numpy as np
import pandas as pd
import pyproj
import shapely

from reliability.fuzzing.target import Broken

if TYPE_CHECKING:
    from pathlib import Path

WHOLE_SIDES = dict(enumerate((1, 2, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 18, 19, 21, 22))) | {"squares": 29}
ELSEWHERE, TOTAL = "elsewhere", "total"


def recount(folder: Path, rows: pd.DataFrame, how: dict[str, object]) -> None:
    """Raise Broken unless a release of flows is what its raw rows are, and keeps the promise of its manifest.

    how: what was asked for: grid, bbox, unit, weight, trip_weight, time, time_hierarchy, timezone, by, count; and of
    the release k, k_weight, max_share, min_tiles.
    """
    Recount(folder, rows, how).check()


class Recount:
    """Raw rows and a folder, side by side."""

    def __init__(self, folder: Path, rows: pd.DataFrame, how: dict[str, object]) -> None:
        self.how = how
        self.flows = pd.read_parquet(folder / "flows.parquet")
        self.areas = pd.read_parquet(folder / "areas.parquet")
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.promise = self.manifest["promise"]
        self.by = list(how.get("by") or ())
        self.trips = self._usable(rows)
        self.ends = [Ends(self, side) for side in ("origin", "destination")]
        self.matrix = self._matrices()
        path = folder.with_name(f"{folder.name}.assignment.parquet")
        self.assignment = pd.read_parquet(path) if path.exists() else None

    def _usable(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows that count, with the columns person, people (of a person), trips and weighs."""
        unit, count, box = self.how.get("unit"), self.how.get("count"), self.how.get("bbox")
        if "start_lon" in rows:
            for end in ("start", "end"):
                lon, lat = rows[f"{end}_lon"], rows[f"{end}_lat"]
                rows = rows[lon.between(-180, 180) & lat.between(-90, 90)]
            if box is not None:
                west, south, east, north = (float(part) for part in box.split(","))
                for end in ("start", "end"):
                    rows = rows[rows[f"{end}_lon"].between(west, east) & rows[f"{end}_lat"].between(south, north)]
        else:
            rows = rows[rows["origin"].isin(self.how["zones"]) & rows["destination"].isin(self.how["zones"])]
        if unit:
            rows = rows[rows[unit].notna()]
        rows = rows.reset_index(drop=True)
        weight = self.how.get("weight") or self.how.get("trip_weight")
        return rows.assign(
            person=rows[unit] if unit else np.arange(len(rows)),
            trips=rows[count].astype(int) if count else 1,
            weighs=rows[weight].astype(float) if weight else 1.0,
        )

    def _matrices(self) -> pd.DataFrame:
        """Return the step of time of each trip, and its groups, as text."""
        keys = self.trips[self.by].astype(str)
        step = self.how.get("time") or (self.how.get("time_hierarchy") or "").partition("<")[0].strip()
        if step:
            keys = keys.assign(step=steps(self.trips["start_time"], step, self.how.get("timezone")))
        return keys

    def check(self) -> None:
        """Check all of it."""
        flows = self.flows
        is_total = np.zeros(len(flows), bool)
        for column in self.by:
            is_total |= (flows[column] == TOTAL).to_numpy() if self.promise.get("totals") else False
        is_rest = ((flows["origin"] == ELSEWHERE) | (flows["destination"] == ELSEWHERE)).to_numpy()
        self._check_areas()
        inside = self._flows_of_trips(~is_rest)
        taken = self._taken(inside, np.flatnonzero(~is_rest & ~is_total))
        for place in np.flatnonzero(~is_rest & ~is_total):
            self._check_flow(place, taken == place)
        for place in np.flatnonzero(is_total):
            self._check_flow(place, inside[place])
        if self.assignment is not None:  # which says of trips to elsewhere, too, which flow reports them
            for place in np.flatnonzero(is_rest):
                self._check_flow(place, taken == place)
            taken = np.where(np.isin(taken, np.flatnonzero(is_rest)), -1, taken)
        self._check_totals(inside, np.flatnonzero(is_total), np.flatnonzero(~is_total & ~is_rest))
        if is_rest.any() and self.assignment is None:
            self._check_elsewhere(taken, np.flatnonzero(is_rest))
        self._check_suppression(taken)
        self._check_same_areas(np.flatnonzero(~is_rest & ~is_total))
        if self.promise.get("protect_margins"):
            self._check_margins(taken)

    def _check_areas(self) -> None:
        for side in ("origin", "destination"):
            listed = set(self.areas.loc[self.areas["side"] == side, "area"])
            if listed != set(self.flows[side]):
                raise Broken(f"areas of one side are not those of its flows: {side}")
        keys = [name for name in ("origin", "destination", "time", "time_end", *self.by) if name in self.flows]
        if self.flows.duplicated(keys).any():
            raise Broken("a flow is listed twice: " + str(self.flows[self.flows.duplicated(keys)].head()))
        ends = list(zip(self.flows["origin"], self.flows["destination"], strict=True))
        if ends != sorted(ends):
            raise Broken("flows are not sorted by their areas")

    def _flows_of_trips(self, regular: np.ndarray) -> np.ndarray:
        """Return which trips lie in which flow, by areas, times and groups."""
        inside = np.zeros((len(self.flows), len(self.trips)), bool)
        for place, flow in enumerate(self.flows.to_dict("records")):
            if regular[place] or self.assignment is not None:
                inside[place] = self._in_matrix(flow)
                for side, name in enumerate(("origin", "destination")):
                    if flow[name] != ELSEWHERE:
                        inside[place] &= self.ends[side].inside(flow[name])
        return inside

    def _in_matrix(self, flow: dict) -> np.ndarray:
        mask = np.ones(len(self.trips), bool)
        for column in self.by:
            if flow[column] != TOTAL or not self.promise.get("totals"):
                mask &= (self.matrix[column] == str(flow[column])).to_numpy()
        if "time_end" in self.flows and self.how.get("time_hierarchy"):
            if not pd.isna(flow["time"]):
                mask &= ((self.matrix["step"] >= flow["time"]) & (self.matrix["step"] < flow["time_end"])).to_numpy()
        elif self.how.get("time"):
            mask &= (self.matrix["step"] == flow["time"]).to_numpy()
        return mask

    def _taken(self, inside: np.ndarray, regular: np.ndarray) -> np.ndarray:
        """Return the flow that each trip is counted in, -1 for none; no trip may be in two."""
        taken = np.full(len(self.trips), -1)
        if self.assignment is not None:
            return self._assigned(inside)
        if self.promise.get("remainders"):
            order = sorted(regular, key=lambda place: -int(inside[place].sum()))
            for place in order:  # the smallest comes last
                before = np.unique(taken[inside[place]])
                for other in before[before >= 0]:
                    if not inside[other][inside[place]].all():
                        raise Broken("two flows have trips in common, and none holds the other")
                taken[inside[place]] = place
            for place in regular:
                finer = any(
                    inside[other][inside[place]].any() and inside[other].sum() < inside[place].sum()
                    for other in regular
                    if other != place
                )
                if finer and not self.flows["remainder"][place]:
                    raise Broken("a flow that holds a finer one is not marked as a remainder")
            return taken
        several = inside[regular].sum(axis=0) > 1
        if several.any():
            both = self.flows.iloc[[place for place in regular if inside[place][np.argmax(several)]]]
            raise Broken(f"a trip is counted in two flows: {both.to_dict('records')}")
        for place in regular:
            taken[inside[place]] = place
        return taken

    def _assigned(self, inside: np.ndarray) -> np.ndarray:
        keys = dict(
            zip(zip(self.flows["origin"], self.flows["destination"], strict=True), range(len(self.flows)), strict=True)
        )
        table = self.assignment
        zones = sorted(self.how.get("zones") or ())
        known = {
            (_zone(start, zones), _zone(end, zones)): keys[origin, destination]
            for start, end, origin, destination in zip(
                table["origin_tile"], table["destination_tile"], table["origin"], table["destination"], strict=True
            )
        }
        if len(known) < len(table):
            raise Broken("a pair of tiles is assigned twice")
        taken = np.array([known.get(pair, -1) for pair in zip(self.ends[0].ids, self.ends[1].ids, strict=True)])
        for place in np.unique(taken[taken >= 0]):
            if not inside[place][taken == place].all():
                raise Broken("a pair of tiles is assigned to a flow that it does not lie in")
        return taken

    def _check_flow(self, place: int, mask: np.ndarray) -> None:
        flow, trips = self.flows.iloc[place], self.trips[mask]
        told = f"{flow.to_dict()} against {len(trips)} rows"
        count, persons = int(trips["trips"].sum()), int(trips["person"].nunique())
        crowd = persons if self.how.get("unit") else count
        if crowd < self.how["k"]:
            raise Broken(f"a flow has fewer than k: {crowd} {told}")
        self._check_number(int(flow["trips"]), count, "trips", told)
        if self.how.get("unit"):
            if "persons" not in self.flows:
                raise Broken("persons are missing")
            self._check_number(int(flow["persons"]), persons, "persons", told)
            if flow["persons"] > flow["trips"]:
                raise Broken(f"a flow has more persons than trips: {told}")
        if self.how.get("weight") or self.how.get("trip_weight"):
            weight = float(trips["weighs"].sum())
            if abs(weight - flow["weight"]) > 0.5 + 1e-6 * max(weight, 1):
                raise Broken(f"the weight of a flow is wrong: {weight} {told}")
        people = trips.drop_duplicates("person")["weighs"].sum() if self.how.get("unit") else trips["weighs"].sum()
        if self.how.get("k_weight") is not None and people < self._people() * (1 - 1e-9) - 1e-6:
            raise Broken(f"a flow stands for too few people: {people} of {self._people()} {told}")
        if (
            self.how.get("max_share")
            and trips.groupby("person")["trips"].sum().max() > self.how["max_share"] * count + 1e-6
        ):
            raise Broken(f"one person makes too many trips of a flow: {told}")
        for side in (0, 1):
            tiles = self.ends[side].tiles.get(flow.iloc[side])
            if tiles is not None and not np.isnan(tiles) and tiles < (self.how.get("min_tiles") or 1):
                raise Broken(f"an area has too few tiles: {told}")

    def _people(self) -> float:
        asked = self.how["k_weight"]
        if not isinstance(asked, str):
            return float(asked)
        each = self.trips.drop_duplicates("person")["weighs"] if self.how.get("unit") else self.trips["weighs"]
        times = Fraction(self.how["k"]) if asked == "auto" else Fraction(asked.removesuffix("x"))
        return float(times) * float(each.mean())

    def _check_number(self, published: int, true: int, what: str, told: str) -> None:
        base, key = self.promise.get("rounding"), self.promise.get("cell_key")
        off = abs(published - true)
        if off > (base - 1 if base else key or 0) or published % (base or 1):
            raise Broken(f"the {what} of a flow are wrong: {true} {told}")

    def _check_totals(self, inside: np.ndarray, totals: np.ndarray, parts: np.ndarray) -> None:
        """Check that a total less the groups inside it is nobody's, or a crowd's."""
        if len(totals) and (inside[totals].sum(axis=0) > 1).any():
            raise Broken("a trip is in two totals")
        for place in totals:
            total = self.flows.iloc[place]
            hidden = inside[place].copy()
            for part in parts:
                flow = self.flows.iloc[part]
                within = all(self.ends[side].holds(total.iloc[side], flow.iloc[side]) for side in (0, 1))
                if within and (not self.how.get("time") or flow["time"] == total["time"]):
                    hidden &= ~inside[part]
            rest = self.trips[hidden]
            crowd = rest["person"].nunique() if self.how.get("unit") else rest["trips"].sum()
            if 0 < crowd < self.how["k"]:
                raise Broken(f"a total less its groups tells of {crowd}: {total.to_dict()}")

    def _check_elsewhere(self, taken: np.ndarray, rest: np.ndarray) -> None:
        """Check flows to elsewhere: a trip that is left out is in the smallest area of its first end that has one."""
        left = taken < 0
        best = np.full(len(self.trips), np.inf)
        chosen = np.full(len(self.trips), -1)
        for place in rest:
            flow = self.flows.iloc[place].to_dict()
            side = int(flow["origin"] == ELSEWHERE)
            area = flow[("origin", "destination")[side]]
            mask = left & self._in_matrix(flow) & self.ends[side].inside(area)
            size = self.ends[side].inside_tiles(area)
            better = mask & (size < best)
            chosen[better], best[better] = place, size
        for place in rest:
            self._check_flow(place, chosen == place)

    def _check_suppression(self, taken: np.ndarray) -> None:
        most = self.promise.get("max_suppression")
        total, kept = self.trips["trips"].sum(), self.trips["trips"][taken >= 0].sum()
        if most is not None and total - kept > most * total + 1e-6:
            raise Broken(f"more is left out than promised: {total - kept} of {total} at {most}")

    def _check_same_areas(self, regular: np.ndarray) -> None:
        if not self.promise.get("same_areas"):
            return
        pairs = self.flows.iloc[regular][["origin", "destination"]].drop_duplicates()
        times = np.zeros(len(self.trips), int)
        for origin, destination in pairs.itertuples(index=False):
            times += self.ends[0].inside(origin) & self.ends[1].inside(destination)
        if times.max(initial=0) > 1:
            raise Broken("areas of two steps overlap, and are not the same")

    def _check_margins(self, taken: np.ndarray) -> None:
        """Check what is left of departures and arrivals once flows from there, or from a part of it, are taken off."""
        keys = [*self.by, *(["time"] if self.how.get("time") else [])]
        for flow in self.flows.drop_duplicates(keys).to_dict("records") if keys else [{}]:
            here = self._in_matrix(flow)
            for side, name in enumerate(("origin", "destination")):
                for area in self.flows[name].unique():
                    counted = [
                        place
                        for place in np.unique(taken[taken >= 0])
                        if self.ends[side].holds(area, self.flows[name][place])
                    ]
                    rest = self.trips[here & self.ends[side].inside(area) & ~np.isin(taken, counted)]
                    crowd = rest["person"].nunique() if self.how.get("unit") else rest["trips"].sum()
                    used = (self.flows[name] == area) & np.logical_and.reduce(
                        [self.flows[key] == flow[key] for key in keys] or [True]
                    )
                    if 0 < crowd < self.how["k"] and used.any():
                        raise Broken(f"a margin less its flows tells of {crowd}: {name} {area} {flow}")


class Ends:
    """One end of all trips: the tile of each, and which areas hold it."""

    def __init__(self, owner: Recount, side: str) -> None:
        self.areas = owner.areas[owner.areas["side"] == side].set_index("area")
        self.tiles = self.areas["tiles"].astype(float).to_dict()
        self._known: dict[str, np.ndarray] = {}
        trips, grid, options = owner.trips, owner.how.get("grid"), owner.manifest["options"]
        self.box = owner.how.get("bbox")
        if grid is None:
            self.kind = "zones"
            ids = trips[side].astype(str)
        else:
            end = {"origin": "start", "destination": "end"}[side]
            lon, lat = trips[f"{end}_lon"].to_numpy(float), trips[f"{end}_lat"].to_numpy(float)
            self.kind, _, size = grid.partition(":")
            if self.kind == "h3":
                self.resolution = int(size)
                ids = pd.Series(
                    [h3.latlng_to_cell(*place, self.resolution) for place in zip(lat, lon, strict=True)], dtype=str
                )
            else:
                self.side, self.crs = float(size), options["crs"]
                mover = pyproj.Transformer.from_crs("EPSG:4326", self.crs, always_xy=True)
                x, y = mover.transform(lon, lat)
                column, row = np.floor(np.asarray(x) / self.side), np.floor(np.asarray(y) / self.side)
                ids = pd.Series([f"q:0/{int(a)}/{int(b)}" for a, b in zip(column, row, strict=True)], dtype=str)
        self.ids = ids.to_list()
        codes, distinct = pd.factorize(ids)
        self.code, self.distinct = codes, [str(tile) for tile in distinct]

    def inside(self, area: str) -> np.ndarray:
        """Return which trips have this end in an area."""
        return self._mask(area)[self.code]

    def inside_tiles(self, area: str) -> int:
        """Return in how many tiles of trips an area is, by which areas that hold each other can be ordered."""
        return int(self._mask(area).sum())

    def holds(self, one: str, other: str) -> bool:
        """Return whether an area holds another one, as far as trips tell."""
        return bool((self._mask(one) | ~self._mask(other)).all())

    def _mask(self, area: str) -> np.ndarray:
        if area not in self._known:
            self._known[area] = np.array([self._holds(area, tile) for tile in self.distinct], bool).reshape(-1)
        return self._known[area]

    def _holds(self, area: str, tile: str) -> bool:
        if area in {"world", "all"}:
            return True
        if area.startswith("r:") and self.kind != "zones":
            return self._in_rectangle(area, tile)
        if self.kind == "zones":
            return tile in set(self.areas.loc[area, "members"])
        if self.kind == "h3":
            return _cell_in(area, tile, self.resolution)
        column, row = (int(part) for part in tile.split("/")[1:])
        numbers = [int(part) for part in area.partition(":")[2].split("/")]
        wide, high, x, y = numbers if area.startswith("l:") else (numbers[0], numbers[0], *numbers[1:])
        return _halved(column, wide, x, "squares") and _halved(row, high, y, "squares")

    def _in_rectangle(self, area: str, tile: str) -> bool:
        west, south, east, north = np.rint(
            np.array(shapely.bounds(shapely.from_wkb(self.areas.loc[area, "geometry"]))) * 1e7
        )
        if self.kind == "h3":
            lat, lon = h3.cell_to_latlng(tile)
        else:
            column, row = (int(part) for part in tile.split("/")[1:])
            back = pyproj.Transformer.from_crs(self.crs, "EPSG:4326", always_xy=True)
            lon, lat = back.transform((column + 0.5) * self.side, (row + 0.5) * self.side)
        box = np.rint(
            np.array([float(part) for part in self.box.split(",")] if self.box else [-180, -90, 180, 90]) * 1e7
        )
        x, y = (
            min(max(round(value * 1e7), low), high)
            for value, low, high in ((lon, box[0], box[2]), (lat, box[1], box[3]))
        )
        return (west < x <= east or x == west == box[0]) and (south < y <= north or y == south == box[1])


def _cell_in(area: str, tile: str, resolution: int) -> bool:
    if area.startswith("l:"):
        base, wide, high, x, y = (int(part) for part in area[2:].split("/"))
        if h3.get_base_cell_number(tile) != base:
            return False
        middle = h3.cell_to_center_child(h3.cell_to_parent(tile, 0), resolution)
        i, j = h3.cell_to_local_ij(middle, tile)
        return _halved(i, wide, x, resolution) and _halved(j, high, y, resolution)
    cell, _, children = area.partition(":")
    level = h3.get_resolution(cell)
    if level > resolution or h3.cell_to_parent(tile, level) != cell:
        return False
    return not children or str(h3.cell_to_child_pos(h3.cell_to_parent(tile, level + 1), level)) in children


def _halved(number: int, exponent: int, place: int, kind: object) -> bool:
    return place == 0 if exponent == WHOLE_SIDES[kind] else number >> exponent == place


def _zone(tile: str, zones: list[str]) -> str:
    """Return the zone that a tile is: of a tree by number, of columns by the last of its path; of a grid itself."""
    name, _, number = tile.partition(":")
    if zones and name in {"ward", "many"}:
        return zones[int(number)]
    return tile.rpartition("=")[2] if zones else tile


LENGTHS = {"15min": "15min", "1h": "1h", "2h": "2h", "6h": "6h", "1d": "1D"}


def steps(times: pd.Series, step: str, zone: str | None) -> pd.Series:
    """Return the step of time that each moment (in UTC) lies in, as it is published."""
    wall = times.dt.tz_convert(zone or "UTC")
    hour, day = wall.dt.hour, wall.dt.dayofweek
    cycles = {
        "hour-of-day": hour,
        "hour-of-week": 24 * day + hour,
        "weekday-weekend": (day > 4).astype(int),
        "day-type": (day - 4).clip(lower=0),
    }
    if step in cycles:
        return cycles[step]
    wall = wall.dt.tz_localize(None)
    midnight = wall.dt.normalize()
    if step == "week":
        begin = midnight - pd.to_timedelta(day, unit="D")
    elif step == "month":
        begin = midnight - pd.to_timedelta(wall.dt.day - 1, unit="D")
    else:
        begin = wall.dt.floor(LENGTHS[step])
    return begin.dt.tz_localize(zone or "UTC", nonexistent="shift_forward", ambiguous=True).dt.tz_convert("UTC")
