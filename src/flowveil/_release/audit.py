"""The private audit file: what the publisher must know and nobody else may."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowveil._engine import FileSource, QuerySource
from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._engine import Source
    from flowveil._release.release import Release

FORMAT = "flowveil-audit/1"
_BLOCK = 1 << 20


def make_audit(release: Release) -> dict[str, Any]:
    """Return what the audit file of a release holds."""
    flows, published = release.source, release.published
    if flows is None or published is None:
        raise InputError("a release that was read back cannot be written again", "copy its folder")
    origin = flows.provenance
    kept = int(published.trips.sum())
    return {
        "format": FORMAT,
        "input": {
            "columns": origin.columns,
            "where": origin.where,
            "zones": origin.zones,
            "unit": origin.unit,
            "weight": origin.weight,
            "fingerprint": fingerprint(origin.source),
        },
        "rows": origin.rows,
        "dropped": origin.dropped,
        "outside_bbox": origin.outside_bbox,
        "unknown_zones": list(origin.unknown_zones),
        "trips": flows.total,
        "suppressed_trips": flows.total - kept,
        "suppressed": (flows.total - kept) / flows.total,
        "metrics": release.metrics(),
        "notes": [*origin.notes, *release.notes],
    }


def fingerprint(source: Source | None) -> list[dict[str, Any]]:
    """Return name, size and SHA-256 of the files of the input, or of a query; nothing for tables in memory."""
    if isinstance(source, QuerySource):
        return [{"name": "query", "sha256": hashlib.sha256(source.query.encode()).hexdigest()}]
    if not isinstance(source, FileSource):
        return []
    return [_fingerprint(Path(path)) for path in source.paths]


def _fingerprint(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest.hexdigest()}
