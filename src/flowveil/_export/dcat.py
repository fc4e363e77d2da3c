"""A description for data portals: DCAT 3 with the core fields of DCAT-AP, as JSON-LD."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from flowveil._export.about import find_bounds, find_license, find_period
from flowveil._folder import AREAS, MANIFEST

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables
    from flowveil._folder import Description, Json

_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "gsp": "http://www.opengis.net/ont/geosparql#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
}
_TRANSPORT = "http://publications.europa.eu/resource/authority/data-theme/TRAN"
_PUBLIC = "http://publications.europa.eu/resource/authority/access-right/PUBLIC"
_MEDIA = "https://www.iana.org/assignments/media-types/"
_FORMATS = {".parquet": ("application/vnd.apache.parquet", "Apache Parquet"), ".json": ("application/json", "JSON")}
_KEYWORDS = {
    "flows": ["mobility", "origin-destination", "trips"],
    "cells": ["mobility", "trips", "density"],
    "trajectories": ["mobility", "trajectories"],
    "samples": ["mobility", "trajectories", "synthetic"],
}


def write(tables: Tables, path: Path) -> int:
    """Write one dataset with the files of the release folder as distributions, at addresses relative to this file."""
    text = json.dumps({"@context": _CONTEXT} | _dataset(tables), ensure_ascii=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
    return int(tables.rows.num_rows)


def _dataset(tables: Tables) -> dict[str, Json]:
    """Return the dataset: what the publisher says of it, what it promises, where and when, and its files."""
    manifest = tables.manifest
    said = manifest.get("description", {})
    dataset: dict[str, Json] = {
        "@id": "",  # the address of this file
        "@type": "dcat:Dataset",
        "dct:title": said.get("title", f"Release of {tables.kind}"),
        "dct:description": f"{manifest['promise_text']} {manifest['absence']}",
        "dcat:keyword": [*_KEYWORDS[tables.kind], "anonymized", manifest["promise"]["kind"]],
        "dcat:theme": {"@id": _TRANSPORT},
        "dct:accessRights": {"@id": _PUBLIC},
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": f"Made with {manifest['software']}"},
    }
    dataset |= _who(said)
    if "period" in said:
        dataset["dct:temporal"] = _period(said["period"])
    if step := _resolution(str(manifest["options"].get("time", ""))):
        dataset["dcat:temporalResolution"] = {"@type": "xsd:duration", "@value": step}
    if bounds := find_bounds(tables):
        dataset["dct:spatial"] = _box(*bounds)
    files = [f"{tables.kind}.parquet", *([AREAS] if tables.areas.num_rows else []), MANIFEST]
    return dataset | {"dcat:distribution": [_distribution(name, said.get("license")) for name in files]}


def _who(said: Description) -> dict[str, Json]:
    """Return publisher and contact, as far as they are known."""
    who: dict[str, Json] = {}
    if "publisher" in said:
        who["dct:publisher"] = {"@type": "foaf:Agent", "foaf:name": said["publisher"]}
    if contact := said.get("contact"):
        point: dict[str, Json] = {"@type": "vcard:Kind", "vcard:fn": said.get("publisher", contact)}
        if contact.startswith("http"):
            point["vcard:hasURL"] = {"@id": contact}
        elif re.fullmatch(r"[^@\s<>]+@[^@\s<>]+", contact):
            point["vcard:hasEmail"] = {"@id": f"mailto:{contact}"}
        else:
            point["vcard:note"] = contact
        who["dcat:contactPoint"] = point
    return who


def _period(text: str) -> dict[str, Json]:
    """Return a period of time: its first and last day where they are known, and what was typed."""
    period: dict[str, Json] = {"@type": "dct:PeriodOfTime", "rdfs:label": text}
    if days := find_period(text):
        for name, day in zip(("dcat:startDate", "dcat:endDate"), days, strict=True):
            period[name] = {"@type": "xsd:date", "@value": day.isoformat()}
    return period


def _resolution(step: str) -> str | None:
    """Return steps of the calendar, such as 15min, as ISO 8601 has them."""
    match = re.fullmatch(r"(\d+)(min|h|d)", step)
    if match is None:
        return {"month": "P1M", "week": "P7D", "hour-of-day": "PT1H", "hour-of-week": "PT1H"}.get(step)
    return f"P{match[1]}D" if match[2] == "d" else f"PT{match[1]}{match[2][0].upper()}"


def _box(west: float, south: float, east: float, north: float) -> dict[str, Json]:
    """Return a place: its box as well-known text."""
    corners = ((west, south), (east, south), (east, north), (west, north), (west, south))
    ring = ", ".join(f"{x:.6f} {y:.6f}" for x, y in corners)
    return {"@type": "dct:Location", "dcat:bbox": {"@type": "gsp:wktLiteral", "@value": f"POLYGON(({ring}))"}}


def _distribution(name: str, license_text: str | None) -> dict[str, Json]:
    """Return one file of the release."""
    media, title = _FORMATS[name[name.rindex(".") :]]
    distribution: dict[str, Json] = {
        "@type": "dcat:Distribution",
        "dct:title": name,
        "dcat:accessURL": {"@id": name},
        "dcat:downloadURL": {"@id": name},
        "dcat:mediaType": {"@id": f"{_MEDIA}{media}"},
        "dct:format": {"@type": "dct:MediaTypeOrExtent", "rdfs:label": title},
    }
    if license_text is not None:
        known = find_license(license_text)
        named = {"@type": "dct:LicenseDocument", "rdfs:label": known.title}
        distribution["dct:license"] = named if known.url is None else {"@id": known.url} | named
    return distribution
