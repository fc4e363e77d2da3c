"""A release in memory: what may be published, and what stays private beside it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flowveil._errors import InputError
from flowveil.measure import metrics

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from flowveil.flows import Flows
    from flowveil.measure import Published


@dataclass(frozen=True, eq=False)
class Release:
    """Flows between areas that keep the promise of the manifest.

    `flows` and `areas` are pyarrow tables, `manifest` a dict: these three are safe to publish.
    """

    flows: pa.Table
    areas: pa.Table
    manifest: dict[str, Any]
    source: Flows | None = None  # private: what the release was made from
    published: Published | None = None  # private
    notes: tuple[str, ...] = ()  # private: choices the method made

    def metrics(self, tiles: str = "tree") -> dict[str, Any]:
        """Return what was lost (docs/metrics.md); private, since it is computed from the true trips."""
        return deepcopy(self._tree_metrics) if tiles == "tree" else self._measure(tiles)

    @cached_property
    def _tree_metrics(self) -> dict[str, Any]:
        """Measured once: the audit file and the terminal both want them."""
        return self._measure("tree")

    def _measure(self, tiles: str) -> dict[str, Any]:
        if self.source is None or self.published is None:
            raise InputError(
                "a release that was read back does not know its input", "use flowveil.evaluate(folder, trips)"
            )
        return metrics(self.source, self.published, self.manifest["promise"]["k"], tiles)

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the folder and, beside it, the private audit file; all of it or nothing."""
        from flowveil.release._write import write_release  # noqa: PLC0415  the writer knows releases, not the reverse

        return write_release(self, path, overwrite=overwrite)
