"""A release in memory: what may be published, and what stays private beside it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import AREAS, ASSIGNMENT, AUDIT, FLOWS, Files, Kind, check_target, write_folder
from flowveil._measure import metrics
from flowveil._options import AUTO, check_flag
from flowveil._reading import Readable
from flowveil._register import enter
from flowveil._release.audit import make_audit
from flowveil._report import choose_report, flows_content, make_inline

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from flowveil._flows import Flows
    from flowveil._folder import Manifest
    from flowveil._measure import Metrics, Published
    from flowveil._places import ZonesLike
    from flowveil._register import NewEntry
    from flowveil._release.coverage import Coverage

_ONCE = (
    "with -k 1, a weight of auto is once the mean, which one person may have alone: "
    "to protect the population, write how often, e.g. --k-weight 10x"
)


@dataclass(frozen=True, eq=False, repr=False)
class Release(Readable):
    """Flows between areas that keep the promise of the manifest.

    `flows` and `areas` are pyarrow tables, `manifest` a dict: these three are safe to publish.

    >>> release = fv.read_release("release")
    >>> release.flows.column_names, release.manifest["promise"]["k"]
    (['origin', 'destination', 'trips', 'persons'], 5)
    """

    flows: pa.Table
    areas: pa.Table
    manifest: Manifest
    source: Flows | None = None  # private: what the release was made from
    published: Published | None = None  # private
    assignment: pa.Table | None = None  # private: which tile pair is counted in which flow, where areas overlap
    notes: tuple[str, ...] = ()  # private: choices the method made
    coverage: Coverage | None = None  # private: how much of the input it holds
    told: tuple[str, ...] = ()  # private: what areas cost that are the same for several steps of time or releases
    secret: bytes | None = None  # private: what chance was drawn from, where something was left to it
    sensitive: str | None = None  # private: path of the file of sensitive places
    entry: NewEntry | None = None  # private: what writing enters in a register

    def __repr__(self) -> str:
        return f"<Release: {self.flows.num_rows:,} flows by {self.manifest.get('method')}>"

    @property
    def doubts(self) -> tuple[str, ...]:
        """What may mislead readers of this release, one sentence each; private, and told when it is made."""
        promise = self.manifest["promise"]
        once = (_ONCE,) if promise["k"] == 1 and promise.get("k_weight") == AUTO else ()
        return once if self.coverage is None else (*once, *self.coverage.doubts())

    def metrics(
        self,
        tiles: str = "tree",
        *,
        k: int | None = None,
        k_weight: float | str | None = None,
        raw: bool = False,
    ) -> Metrics:
        """Return what was lost (docs/metrics.md); private, since it is computed from the true trips.

        k, k_weight: what flows are held against; by default what was promised, and k times the mean weight.
        tiles: count those of the "tree", which occur in the trips, or "all" of an area. raw: with `gdm_raw`, from the
        coordinates of trips, which are read once more.

        >>> release = fv.anonymize(fv.build_flows("trips.parquet", "h3:7", unit="person_id"), k=5)
        >>> release.metrics()["min_persons"], round(release.metrics()["suppressed"], 3)
        (5, 0.1)
        """
        if tiles == "tree" and k is None and k_weight is None and not check_flag(raw, "raw"):
            return deepcopy(self._tree_metrics)
        return self._measure(tiles, k, k_weight, raw=raw)

    @cached_property
    def _tree_metrics(self) -> Metrics:
        """The metrics, measured once: the audit file and the terminal both want them."""
        return self._measure("tree")

    def _measure(
        self,
        tiles: str,
        k: int | None = None,
        k_weight: float | str | None = None,
        *,
        raw: bool = False,
    ) -> Metrics:
        if self.source is None or self.published is None:
            raise InputError(
                "a release that was read back does not know its input", "use flowveil.evaluate(folder, trips)"
            )
        promise = self.manifest["promise"]
        held = promise.get("k_weight") if k_weight is None else k_weight
        held_k = promise["k"] if k is None else k
        return metrics(self.source, self.published, held_k, tiles, k_weight=held, raw=raw)

    def write(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        report: bool = False,
        ground: str | None = None,
        context: ZonesLike | None = None,
    ) -> Path:
        """Write the folder and, beside it, the private files (audit, assignment); all of it or nothing.

        report: with report.html in the folder, which shows what can be computed from it.
        path: the folder. overwrite: replace a release that is there.
        ground, context: what the report is drawn on, as for `report`.

        >>> release = fv.anonymize(fv.build_flows("trips.parquet", "h3:7", unit="person_id"), k=5)
        >>> sorted(path.name for path in release.write("out", report=True).iterdir())
        ['areas.parquet', 'flows.parquet', 'manifest.json', 'report.html']
        """
        check_target(path, overwrite=overwrite)  # before any work
        private = {} if self.assignment is None else {ASSIGNMENT: self.assignment}
        shown = choose_report(flows_content, report=report, ground=ground, context=context)
        audit = make_audit(self)
        with enter(self.entry, path) as entered:
            told = private | {AUDIT: {**audit, **entered}}
            return write_folder(path, self.files, told, overwrite=overwrite, report=shown)

    def _repr_html_(self) -> str:
        """Show the map in a notebook."""
        return make_inline(flows_content, self.files)

    @property
    def files(self) -> Files:
        """The kind, tables and manifest: what the folder holds, but for its report."""
        return Files(Kind.FLOWS, {FLOWS: self.flows, AREAS: self.areas}, self.manifest)
