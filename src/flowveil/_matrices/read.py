"""Reading a release with noise back, with suspicion: it may come from anyone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError, VerificationError
from flowveil._folder import read_json
from flowveil._matrices.manifest import CELLS_FORMAT, FLOWS_FORMAT
from flowveil._matrices.methods import LAPLACE
from flowveil._matrices.release import AREAS, CELLS, FLOWS, MANIFEST
from flowveil._options import parse_bbox
from flowveil._release.write import find_release
from flowveil._shapes import shapes_from_wkb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._arrays import FloatArray, IntArray

_KIND = "differential-privacy"


@dataclass(frozen=True, eq=False)
class WrittenRelease:
    """A release with noise as it was written."""

    folder: Path
    manifest: dict[str, Any]
    table: pa.Table  # cells or flows
    areas: pa.Table | None

    @property
    def epsilon(self) -> float:
        """The budget for one unit."""
        return float(self.manifest["promise"]["epsilon"])

    @property
    def trips_of_a_unit(self) -> int:
        """How many trips one unit contributes at most."""
        return int(self.manifest["promise"]["max_trips_per_person"] or 1)

    @property
    def positive_only(self) -> bool:
        """Whether counts below one were left out after the noise."""
        return bool(self.manifest.get("method") == LAPLACE)

    @property
    def counts(self) -> IntArray:
        """The noisy counts."""
        return np.asarray(self.table["count" if self.areas is None else "trips"].to_numpy(), np.int64)

    @property
    def nonnegative(self) -> IntArray:
        """The counts without negative ones, with the same sum."""
        return np.asarray(self.table["nonnegative"].to_numpy(), np.int64)

    @property
    def scales(self) -> FloatArray:
        """The scale of the noise of each count."""
        return np.asarray(self.table["scale"].to_numpy(), np.float64)

    def corners(self) -> tuple[IntArray, IntArray]:
        """Return the lower and upper edges of the boxes of cells."""
        axes = range(2 * len(self.manifest["options"]["places"]))
        low, high = (
            np.column_stack([np.asarray(self.table[f"{end}_{axis}"].to_numpy(), np.int64) for axis in axes])
            for end in ("low", "high")
        )
        return low, high


def is_noisy(path: str | Path) -> bool:
    """Whether a folder says that it is a release with noise."""
    try:
        manifest = read_json(find_release(path) / MANIFEST)
        return bool(manifest["promise"]["kind"] == _KIND)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_noisy(path: str | Path) -> WrittenRelease:
    """Read a release with noise; raise VerificationError where it is not as the format says."""
    folder = Path(path)
    if not is_noisy(folder):
        raise InputError(
            f"{str(path)!r} is not a release with noise",
            "queries need a release made with --epsilon (see flowveil methods)",
        )
    manifest = read_json(folder / MANIFEST)
    form = manifest.get("format")
    files = {CELLS_FORMAT: [CELLS], FLOWS_FORMAT: [FLOWS, AREAS]}.get(form)
    if files is None:
        raise broken(f"the format is neither {CELLS_FORMAT} nor {FLOWS_FORMAT}")
    try:
        tables = [pq.read_table(folder / name) for name in files]
        if AREAS in files:
            shapes_from_wkb(tables[1]["geometry"].to_pylist())
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise broken(f"a table cannot be read: {type(error).__name__}") from None
    release = WrittenRelease(folder, manifest, tables[0], tables[1] if len(tables) > 1 else None)
    _check_promise(manifest["promise"])
    _check_columns(release)
    return release


def check_sums(manifest: Mapping[str, Any]) -> None:
    """Raise if the counts of a release do not add up, since those below one were left out after the noise."""
    if manifest.get("method") == LAPLACE:
        raise InputError(
            "this release lists only counts above zero, so sums over it are too large",
            "read its flows one by one, or release with noisy-mosaic to ask for sums",
        )


def broken(message: str) -> VerificationError:
    """Return the error for a release that is not what it says."""
    return VerificationError(message, "do not publish this folder; write the release again")


def _check_promise(promise: dict[str, Any]) -> None:
    keys = {"kind", "epsilon", "delta", "unit", "neighbours", "max_trips_per_person", "budget"}
    if set(promise) != keys:
        raise broken(f"the promise has other keys than {', '.join(sorted(keys))}")
    epsilon, most, unit = promise["epsilon"], promise["max_trips_per_person"], promise["unit"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < math.inf:
        raise broken("epsilon of the promise is not a positive number")
    if promise["delta"] != 0:
        raise broken("delta of the promise is not 0")
    if not isinstance(unit, str) or not unit or (unit == "trip") != (most is None):
        raise broken("unit and max_trips_per_person of the promise do not go together")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise broken("max_trips_per_person of the promise is not a whole number, 1 or more")
    if promise["neighbours"] != f"one {'trip' if most is None else 'person'} added or removed":
        raise broken("neighbours of the promise do not fit its unit")


def _check_columns(release: WrittenRelease) -> None:
    options = release.manifest.get("options")
    if not isinstance(options, dict):
        raise broken("the manifest has no options")
    if release.areas is None or options.get("grid", "") is not None:  # zones have no bbox
        try:
            parse_bbox(options.get("bbox", ""))
        except InputError:
            raise broken("the manifest has no bbox") from None
    if release.areas is None:
        if not isinstance(options.get("places"), list) or not isinstance(options.get("cells"), int):
            raise broken("the manifest does not describe the grid")
        axes = range(2 * len(options["places"]))
        names = [f"{end}_{axis}" for axis in axes for end in ("low", "high")]
        kinds = dict.fromkeys([*names, "count", "nonnegative"], pa.int64())
    else:
        kinds = {"origin": pa.string(), "destination": pa.string(), "trips": pa.int64(), "nonnegative": pa.int64()}
    kinds["scale"] = pa.float64()
    if "consistent" in release.table.schema.names:
        kinds["consistent"] = pa.float64()
    schema = release.table.schema
    if schema.names != list(kinds) or any(schema.field(name).type != kind for name, kind in kinds.items()):
        raise broken(f"the columns are not {', '.join(kinds)}")
    if any(column.null_count for column in release.table.columns):
        raise broken("a column has nulls")
