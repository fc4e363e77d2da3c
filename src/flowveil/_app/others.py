"""What the page asks of releases that are not flows of crowds: noise, and whole trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from flowveil._app.settings import DESCRIPTION, Asked, Placed, SettingError, Share, Text, read_by
from flowveil._app.telling import OUTPUT, Name, call, command_line, path_of
from flowveil._options import DEFAULT_K, parse_bound, parse_epsilon, parse_users
from flowveil._trajectories import GATHER, GLOVE, parse_min_samples

if TYPE_CHECKING:
    from flowveil._app.files import Files
    from flowveil._folder import Json


class Noise(Placed):
    """Flows with noise."""

    method: Text = "noisy-mosaic"
    epsilon: Annotated[float, read_by(parse_epsilon)] = 1.0
    max_trips_per_person: Annotated[
        int | None, read_by(lambda value: None if value is None else parse_bound(value))
    ] = None

    def order(self, files: Files) -> dict[str, Json]:
        """Return what the worker is told to do."""
        counting = self.changed(*self._names()) | ({"columns": self.columns} if self.columns else {})
        if self.zones is not None:
            counting["zones"] = self.zones_path(files)
        return {
            "trips": str(files[self.trips].path),
            "method": self.method,
            "epsilon": self.epsilon,
            "options": self.options,
            "counting": counting,
            "report": self.report,
            "folder": None,
        }

    def command(self, files: Files) -> str:
        """Return the command line that gives a release of the same kind: noise is drawn anew."""
        start = ["flowveil", "anonymize", path_of(files[self.trips].name), "-o", OUTPUT]
        asked = self.changed(*self._names(), "method", "epsilon", "report")
        return command_line(start, {"zones": self.zones_name(files), **asked, "option": self.options}, self.columns)

    def python(self, files: Files) -> str:
        """Return lines of Python that give a release of the same kind: noise is drawn anew."""
        trips = path_of(files[self.trips].name)
        counting = self.changed(*self._names()) | {"zones": self.zones_name(files), "columns": self.columns}
        made = call("fv.add_noise", trips, self.method, self.epsilon, **counting, options=self.options)
        lines = ["import flowveil as fv", "", f"release = {made}", call("release.write", OUTPUT, report=self.report)]
        return "\n".join([*lines, call("fv.verify", OUTPUT)])

    def _names(self) -> tuple[str, ...]:
        return ("grid", "hierarchy", "bbox", "unit", "max_trips_per_person", *DESCRIPTION)


_PATH_NAMES = ("step", "min_samples", "bbox")
_DEMAND_NAMES = ("k", "method", "variant", "max_extent", "max_duration")
_GROUP_NAMES = (*_DEMAND_NAMES, "complete_support", "max_suppression")


class Paths(Asked):
    """Whole trajectories."""

    step: Text = "100m,1min"
    min_samples: Annotated[int, read_by(parse_min_samples)] = 1
    k: Annotated[int, read_by(parse_users)] = DEFAULT_K
    method: Text = GLOVE
    complete_support: bool = False
    max_suppression: Share = None
    variant: Text = "strict"
    max_extent: Text | None = None
    max_duration: Text | None = None

    def order(self, files: Files) -> dict[str, Json]:
        """Return what the worker is told to do."""
        return self._reading(files) | {
            "grouping": self.model_dump(include=set(_GROUP_NAMES)) | self.changed(*DESCRIPTION),
            "report": self.report,
            "folder": None,
        }

    def frontier_order(self, files: Files) -> dict[str, Json]:
        """Return what the worker is told to do to follow the frontier; raise where there is none."""
        if self.method != GATHER and not self.complete_support:
            raise SettingError(f"{self.method} has no frontier", "take gather, or ask for complete support")
        return self._reading(files) | {"demand": self.model_dump(include=set(_DEMAND_NAMES))}

    def _reading(self, files: Files) -> dict[str, Json]:
        return {"trips": str(files[self.trips].path), "reading": self.model_dump(include={*_PATH_NAMES, "columns"})}

    def command(self, files: Files) -> str:
        """Return the command line that gives the same release, ready for a shell."""
        start = ["flowveil", "trajectories", "anonymize", path_of(files[self.trips].name), "-o", OUTPUT]
        return command_line(start, self.changed(*_PATH_NAMES, *_GROUP_NAMES, *DESCRIPTION, "report"), self.columns)

    def python(self, files: Files) -> str:
        """Return lines of Python that give the same release."""
        trips = path_of(files[self.trips].name)
        reading = self.changed("step", "min_samples") | {"columns": self.columns}
        read = call("fv.trajectories.read_trajectories", trips, self.bbox, **reading)
        made = call("fv.trajectories.anonymize", Name("paths"), **self.changed(*_GROUP_NAMES, *DESCRIPTION))
        lines = ["import flowveil as fv", "", f"paths = {read}", f"release = {made}"]
        return "\n".join([*lines, call("release.write", OUTPUT, report=self.report), call("fv.verify", OUTPUT, trips)])
