"""The private audit file: what the publisher must know and nobody else may."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._engine import fingerprint
from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._folder import Audit
    from flowveil._release.release import Release

FORMAT = "flowveil-audit/1"


def make_audit(release: Release) -> Audit:
    """Return what the audit file of a release holds."""
    flows, published = release.source, release.published
    if flows is None or published is None:
        raise InputError("a release that was read back cannot be written again", "copy its folder")
    provenance = flows.provenance
    kept = int(published.trips.sum())
    audit: Audit = {
        "format": FORMAT,
        "input": {
            "columns": provenance.columns,
            "where": provenance.where,
            "reading": provenance.reading.typed(),
            "zones": provenance.zones,
            "places": provenance.places,
            **({} if release.sensitive is None else {"sensitive": release.sensitive}),
            "unit": provenance.unit,
            "weight": provenance.weight,
            "trip_weight": provenance.trip_weight,
            "fingerprint": fingerprint(provenance.source),
        },
        "rows": provenance.rows,
        "dropped": provenance.dropped,
        "outside_bbox": provenance.outside_bbox,
        "unknown_zones": list(provenance.unknown_zones),
        "trips": flows.total,
        "suppressed_trips": flows.total - kept,
        "suppressed": (flows.total - kept) / flows.total,
        "metrics": dict(release.metrics()),
        "notes": [*provenance.notes, *provenance.doubts, *release.notes, *release.doubts, *release.told],
    }
    if release.coverage is not None:
        audit["coverage"] = release.coverage.figures()
    if release.secret is not None:
        audit["secret"] = release.secret.hex()
    return audit
