"""What an attack works on: a release, what else is known, and the true trips if the publisher gives them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import FLOWS, most_error, read_files
from flowveil._release import read_flows, recount, retrace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from flowveil._flows import Flows
    from flowveil._folder import Files
    from flowveil._measure import Published
    from flowveil._places import ZonesLike
    from flowveil._release import Release
    from flowveil._trips import TripsLike


@dataclass(frozen=True, eq=False)
class Case:
    """A release under attack. Attacks read what is public; those that need the truth ask `knows_truth` first."""

    folder: Path
    beside: tuple[Path, ...] = ()  # other releases of the same data
    margins: pa.Table | None = None  # figures known from elsewhere: origin, destination (either may be null), trips
    narrow: int | None = None  # the width of an interval from which on it is no news; by default k
    trips: TripsLike | None = None  # the input: private
    zones: ZonesLike | None = None
    columns: str | Mapping[str, str] | None = None
    where: str | None = None
    sensitive: ZonesLike | None = None  # places that flows must not pin down

    @cached_property
    def files(self) -> Files:
        """The tables and the manifest, as the folder has them."""
        return read_files(self.folder)

    @property
    def knows_truth(self) -> bool:
        """Whether the publisher gave the trips that the release was made from."""
        return self.trips is not None

    @property
    def k(self) -> int:
        """The least crowd that the manifest promises; of a release with noise there is none."""
        return int(self.files.manifest["promise"]["k"])

    @property
    def slack(self) -> int:
        """By how much a published number may differ from the true one."""
        return most_error(self.files.manifest["promise"])

    @property
    def counts_persons(self) -> bool:
        """Whether the crowd is counted in persons, and told."""
        return "persons" in self.files.tables[FLOWS].column_names

    @cached_property
    def release(self) -> Release:
        """The release of flows between crowds."""
        return read_flows(self.folder)

    @cached_property
    def flows(self) -> Flows:
        """The true flows between tiles. Private."""
        if self.trips is None:
            raise InputError("this attack needs the trips of the release", "give them with --against INPUT")
        return recount(self.folder, self.release, self.trips, zones=self.zones, columns=self.columns, where=self.where)

    @cached_property
    def published(self) -> Published:
        """What of the true flows is in which published one. Private."""
        return retrace(self.folder, self.release, self.flows)
