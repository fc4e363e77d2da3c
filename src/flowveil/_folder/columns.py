"""Which columns of the flows of a release are keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder.names import TIMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._folder.json import Json


def key_columns(flows: pa.Table, manifest: Mapping[str, Json]) -> list[str]:
    """Return the columns that divide the flows of a release into matrices, as its manifest tells: time, then groups.

    All other columns are ends or measures, whatever they are called: a group may have the name of a measure.
    """
    options = manifest["options"]
    by = options.get("by", [])
    times = TIMES if "time_hierarchy" in options else TIMES[:1] if "time" in options else ()
    keys: list[str] = [*times, *(by if isinstance(by, list) else [by])]
    if any(flows.column_names.count(name) != 1 or keys.count(name) != 1 for name in keys):
        raise InputError("the release lacks columns that its manifest tells of", "flowveil verify says which")
    return keys
