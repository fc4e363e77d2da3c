"""A Frictionless Data Package: tables as CSV, and datapackage.json, which says what their columns mean."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._export import comma_separated
from flowveil._export.about import describe, find_bounds, find_license, find_period
from flowveil._folder import SIDES

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables
    from flowveil._folder import Json

_PROFILES = "https://datapackage.org/profiles/2.0/"
_MEANINGS = {
    "origin": "id of the area where trips start",
    "destination": "id of the area where trips end",
    "origin_name": "name of that area",
    "destination_name": "name of that area",
    "time": "beginning of the step of time: a moment in UTC, or the hour of a day or week, or the kind of day: 0 is "
    "weekdays, 1 is weekends or Saturdays, 2 is Sundays",
    "time_end": "end of the step of time, in UTC",
    "trips": "number of trips of the flow",
    "persons": "number of different persons (values of the unit) of the flow",
    "weight": "number of people whom its trips stand for",
    "remainder": "whether it counts all other trips between its areas: those in no finer flow",
    "off_by_at_most": "by how much numbers may differ from true ones",
    "nonnegative": "the count without negative ones, with the same sum",
    "scale": "scale of the noise of the count",
    "consistent": "the count, reconciled with the others",
    "count": "number of trips in the box, with noise",
    "place": "what a marginal counts: where trips start, end or stop",
    "area": "id of the area",
    "name": "what people call it",
    "lon": "longitude of its center, degrees",
    "lat": "latitude of its center, degrees",
    "tiles": "how many tiles it is made of",
    "geometry": "its outline, as well-known text in degrees (longitude first)",
    "zone": "id of a zone in the area",
    "group": "number of the group of users who share the path",
    "size": "number of users of the group",
    "t0": "beginning of the sample, in UTC",
    "t1": "end of the sample, in UTC",
    "lon0": "western edge of the sample's box, degrees",
    "lat0": "southern edge of the sample's box, degrees",
    "lon1": "eastern edge of the sample's box, degrees",
    "lat1": "northern edge of the sample's box, degrees",
}
_OF_TABLE = {  # where a column means something else
    "samples": {
        "user": "number of a synthetic user",
        "time": "moment of the sample, in UTC",
        "lon": "longitude of the sample, degrees",
        "lat": "latitude of the sample, degrees",
        "place": "number of the place that holds it",
    },
    "places": {
        "place": "number of the place",
        "lon0": "western edge of the place, degrees",
        "lat0": "southern edge of the place, degrees",
        "lon1": "eastern edge of the place, degrees",
        "lat1": "northern edge of the place, degrees",
        "block": "number of the block of places that it is in",
        "stays": "number of users who stay there, with noise",
        "scale": "scale of the noise of that number",
    },
    "model": {
        "part": "what is counted",
        "row": "row of the part's table, from 0",
        "column": "column of the part's table, from 0",
        "count": "noisy count, in ten-thousandths of a user",
    },
}


def write(tables: Tables, folder: Path) -> int:
    """Write the tables as the format csv does, and the descriptor."""
    written = comma_separated.write(tables, folder)
    plain = comma_separated.plain_tables(tables)
    original = {tables.kind: tables.rows, "areas": tables.areas}
    resources = [_resource(folder, name, table, original.get(name, table), tables) for name, table in plain.items()]
    text = json.dumps(_package(tables) | {"resources": resources}, ensure_ascii=False, indent=2)
    (folder / "datapackage.json").write_text(text + "\n", encoding="utf-8")
    return written


def _package(tables: Tables) -> dict[str, Json]:
    """Return what is said of all tables together."""
    manifest = tables.manifest
    said = manifest.get("description", {})
    package: dict[str, Json] = {"$schema": f"{_PROFILES}datapackage.json", "name": f"flowveil-{tables.kind}"}
    if "title" in said:
        package["title"] = said["title"]
    package["description"] = f"{manifest['promise_text']} {manifest['absence']}"
    if "license" in said:
        known = find_license(said["license"])
        package["licenses"] = [
            {"name": known.name, "title": known.title} | ({} if known.url is None else {"path": known.url})
        ]
    if people := _contributors(said.get("publisher"), said.get("contact")):
        package["contributors"] = people
    if "period" in said:
        package["period"] = said["period"]
        if days := find_period(said["period"]):
            package["temporal"] = {"start": days[0].isoformat(), "end": days[1].isoformat()}
    if bounds := find_bounds(tables):
        package["spatial"] = {"bbox": list(bounds)}
    package["about"] = describe(manifest)
    package["promise"] = manifest["promise"]
    return package


def _contributors(publisher: str | None, contact: str | None) -> list[dict[str, Json]]:
    """Return who publishes, and how to reach them."""
    if publisher is None and contact is None:
        return []
    reach = {} if contact is None else {"path" if contact.startswith("http") else "email": contact}
    if "email" in reach and "@" not in reach["email"]:  # a name, say
        return [{"title": publisher or contact, "roles": ["publisher"]}]
    return [{"title": publisher or contact, "roles": ["publisher"]} | reach]


def _resource(folder: Path, name: str, table: pa.Table, original: pa.Table, tables: Tables) -> dict[str, Json]:
    """Return the description of one table."""
    path = folder / f"{name}.csv"
    content = path.read_bytes()
    types = {field.name: field.type for field in table.schema} | {field.name: field.type for field in original.schema}
    schema: dict[str, Json] = {
        "fields": [_field(name, column, types[column], tables.keys) for column in table.column_names]
    }
    if name == "flows":
        schema["primaryKey"] = [*SIDES, *tables.keys]
        schema["foreignKeys"] = [
            {"fields": [side], "reference": {"resource": "areas", "fields": ["area"]}} for side in SIDES
        ]
    elif name == "areas":
        schema["primaryKey"] = ["area"]
    elif name == "members":
        schema["primaryKey"] = ["area", "zone"]
        schema["foreignKeys"] = [{"fields": ["area"], "reference": {"resource": "areas", "fields": ["area"]}}]
    return {
        "$schema": f"{_PROFILES}dataresource.json",
        "name": name,
        "type": "table",
        "path": path.name,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "schema": schema | {"missingValues": [""]},
    }


def _field(table: str, name: str, kind: pa.DataType, keys: list[str]) -> dict[str, Json]:
    """Return the description of one column; a group may be called like a measure."""
    if name in keys and not name.startswith("time"):
        return {"name": name, "type": _type(kind), "description": "group of travelers"}
    axis = name.partition("_")
    if axis[0] in ("low", "high") and axis[2].isdigit():
        return {"name": name, "type": "integer", "description": f"{axis[0]}er edge of the box along axis {axis[2]}"}
    return {
        "name": name,
        "type": _type(kind),
        "description": _OF_TABLE.get(table, {}).get(name, _MEANINGS.get(name, name)),
    }


def _type(kind: pa.DataType) -> str:
    """Return what Table Schema calls a type."""
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "number"
    return "datetime" if pa.types.is_timestamp(kind) else "string"
