"""What every release can be asked by whoever reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._folder import check_operation
from flowveil._reading.frames import flows_frame, geo_frame
from flowveil._reading.questions import ask_arrivals, ask_between, ask_departures
from flowveil._reading.strongest import strongest

if TYPE_CHECKING:
    import geopandas as gpd
    import pandas as pd

    from flowveil._folder import Files
    from flowveil._places import ZonesLike
    from flowveil._reading.questions import Answers


class Readable:
    """A release as its readers see it: nothing here uses more than what is published."""

    @property
    def files(self) -> Files:
        """The kind, tables and manifest: what the folder holds, but for its report."""
        raise NotImplementedError

    def between(
        self, zones: ZonesLike, destinations: ZonesLike | None = None, *, weights: ZonesLike | None = None
    ) -> Answers:
        """Return trips between zones of one's own, with bounds.

        zones: a table or file with outlines, or with the ids of the release's own zones. destinations: other zones for
        that end. weights: as for `reconstruct`.

        >>> answers = fv.read_release("release").between("zones.parquet")
        >>> answers.table.column_names
        ['origin', 'destination', 'sure', 'likely_low', 'estimate', 'likely_high', 'at_most', 'left_out']
        """
        return ask_between(self.files, zones, destinations, weights=weights)

    def departures(self, zones: ZonesLike, *, weights: ZonesLike | None = None) -> Answers:
        """Return trips that start in zones, wherever they end, with bounds.

        zones, weights: as for `between`.

        >>> fv.read_release("release").departures("zones.parquet").table.column_names[:2]
        ['zone', 'sure']
        """
        return ask_departures(self.files, zones, weights=weights)

    def arrivals(self, zones: ZonesLike, *, weights: ZonesLike | None = None) -> Answers:
        """Return trips that end in zones, wherever they start, with bounds.

        zones, weights: as for `between`.

        >>> fv.read_release("release").arrivals("zones.parquet").table.column_names[:2]
        ['zone', 'sure']
        """
        return ask_arrivals(self.files, zones, weights=weights)

    def top(self, count: int = 10, zones: ZonesLike | None = None) -> Answers:
        """Return the strongest published flows, or with zones the strongest pairs of these, strongest first.

        count: how many. zones: as for `between`.

        >>> fv.read_release("release").top(3).table["estimate"].to_pylist()
        [55.0, 54.0, 42.0]
        """
        if zones is not None:
            return ask_between(self.files, zones).top(count)
        check_operation(self.files.kind, "top")
        return strongest(self.files, count)

    def to_pandas(self) -> pd.DataFrame:
        """Return the flows, boxes or samples as a frame of pandas; flows with the names of their ends.

        >>> list(fv.read_release("release").to_pandas().columns)
        ['origin', 'origin_name', 'destination', 'destination_name', 'trips', 'persons']
        """
        return flows_frame(self.files)

    def to_geopandas(self, layer: str = "flows") -> gpd.GeoDataFrame:
        """Return a layer for maps: flows as lines between the centers of areas, or areas as outlines.

        layer: "flows" or "areas". Samples of trajectories are boxes.

        >>> fv.read_release("release").to_geopandas("areas").crs.to_epsg()
        4326
        """
        return geo_frame(self.files, layer)
