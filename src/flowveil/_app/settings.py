"""What the page asks for: the options of `flowveil anonymize`, with files by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from flowveil._app.telling import OUTPUT, Name, call, command_line, path_of
from flowveil._errors import InputError
from flowveil._options import (
    DEFAULT_K,
    DEFAULT_LOSS,
    parse_description,
    parse_k,
    parse_k_weight,
    parse_max_suppression,
    parse_min_tiles,
)
from flowveil._release import DEFAULT_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._app.files import Files
    from flowveil._folder import Json


class SettingError(InputError):
    """A setting that cannot be used."""


def read_by(parse: Callable[[object], object]) -> BeforeValidator:
    """Return how a setting is read: as the library reads it, so that nothing else is taken for a number."""

    def read(value: object) -> object:
        try:
            return parse(value)
        except InputError as error:
            raise SettingError(error.message, error.hint) from None

    return BeforeValidator(read)


Text = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Words = Annotated[dict[Text, Annotated[str, StringConstraints(max_length=300)]], Field(max_length=20)]
Share = Annotated[float | None, read_by(parse_max_suppression)]


def said_as(name: str) -> BeforeValidator:
    """Return how a text about the release is read: whether a unit goes with its label is checked with the unit."""
    return read_by(lambda value: parse_description({name: value}, has_unit=True).get(name))


DESCRIPTION = ("title", "period", "publisher", "license", "contact", "unit_label")

_PLACES = ("grid", "hierarchy", "crs", "bbox")
_TRIP_NAMES = (*_PLACES, "unit", "weight", "time", "time_hierarchy", "timezone", "by")
_CROWD_NAMES = ("k", "preset", "k_weight", "min_tiles", "loss")
_STEER_NAMES = ("max_suppression", "elsewhere", "totals", "remainders")
_ALWAYS = ("method", "k", "epsilon")  # said even where they are the default: these make the promise


class Asked(BaseModel):
    """What all releases have. There is no `where`: a page must not send SQL."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trips: Text  # id of a file
    columns: Words = {}
    bbox: Text | None = None
    report: bool = False
    title: Annotated[str | None, said_as("title")] = None
    period: Annotated[str | None, said_as("period")] = None
    publisher: Annotated[str | None, said_as("publisher")] = None
    license: Annotated[str | None, said_as("license")] = None
    contact: Annotated[str | None, said_as("contact")] = None
    unit_label: Annotated[str | None, said_as("unit_label")] = None

    def command(self, files: Files) -> str:
        """Return the command line that gives the same release, ready for a shell."""
        raise NotImplementedError

    def python(self, files: Files) -> str:
        """Return lines of Python that give the same release."""
        raise NotImplementedError

    def order(self, files: Files) -> dict[str, Json]:
        """Return what the worker is told to do."""
        raise NotImplementedError

    def changed(self, *names: str) -> dict[str, Json]:
        """Return settings that are not as they are by default, and those that make the promise."""
        fields = type(self).model_fields
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if name in _ALWAYS or value != fields[name].default}


class Placed(Asked):
    """What releases have whose trips go between tiles or zones."""

    zones: Text | None = None  # id of a file
    grid: Text | None = None
    hierarchy: Text | None = None
    unit: Text | None = None
    method: Text = DEFAULT_METHOD
    options: Words = {}

    def zones_name(self, files: Files) -> str | None:
        """Return the zones as a command names them."""
        return None if self.zones is None else path_of(files[self.zones].name)

    def zones_path(self, files: Files) -> str | None:
        """Return where the zones are."""
        return None if self.zones is None else str(files[self.zones].path)


class Settings(Placed):
    """Flows of crowds: options under the names they have on the command line."""

    crs: Text | None = None
    weight: Text | None = None
    time: Text | None = None
    time_hierarchy: Text | None = None
    timezone: Text | None = None
    by: Text | None = None  # columns, with commas between them
    preset: Text | None = None
    k: Annotated[int, read_by(parse_k)] = DEFAULT_K
    k_weight: Annotated[float | str | None, read_by(parse_k_weight)] = None
    min_tiles: Annotated[int, read_by(parse_min_tiles)] = 1
    loss: Text = DEFAULT_LOSS
    max_suppression: Share = None
    elsewhere: bool = False
    totals: bool = False
    remainders: bool = False

    def places(self, files: Files) -> dict[str, Json]:
        """Return which trips are counted between which places, for the worker: equal settings give equal texts."""
        return self.model_dump(include={*_TRIP_NAMES, "columns"}) | {
            "trips": str(files[self.trips].path),
            "zones": self.zones_path(files),
        }

    def demand(self) -> dict[str, Json]:
        """Return what is asked of the method, as `frontier` takes it; a preset stands for its k."""
        asked = self.model_dump(include={"method", "options", *_CROWD_NAMES})
        return asked if self.preset is None else asked | {"k": None}

    def steer(self) -> dict[str, Json]:
        """Return what else `anonymize` takes."""
        return self.model_dump(include=set(_STEER_NAMES))

    def order(self, files: Files) -> dict[str, Json]:
        """Return what the worker is told to do."""
        return {
            "places": self.places(files),
            "demand": self.demand(),
            "steer": self.steer(),
            "description": self.changed(*DESCRIPTION),
            "report": self.report,
            "folder": None,
        }

    def command(self, files: Files) -> str:
        """Return the command line that gives the same release, ready for a shell."""
        start = ["flowveil", "anonymize", path_of(files[self.trips].name), "-o", OUTPUT]
        asked = self.changed(*_TRIP_NAMES, "method", *self._crowd(), *_STEER_NAMES, *DESCRIPTION, "report")
        options = {"zones": self.zones_name(files), **asked, "option": self.options}
        return command_line(start, options, self.columns)

    def python(self, files: Files) -> str:
        """Return lines of Python that give the same release."""
        trips = path_of(files[self.trips].name)
        counted = self.changed(*(name for name in _TRIP_NAMES if name != "grid"))
        asked = self.changed(*self._crowd(), *_STEER_NAMES, *DESCRIPTION)
        grid = [] if self.grid is None else [self.grid]
        return "\n".join(
            [
                "import flowveil as fv",
                "",
                f"trips = {call('fv.read_trips', trips, *([self.columns] if self.columns else []))}",
                f"flows = {call('fv.build_flows', Name('trips'), *grid, zones=self.zones_name(files), **counted)}",
                f"release = {call('fv.anonymize', Name('flows'), self.method, **asked, options=self.options)}",
                call("release.write", OUTPUT, report=self.report),
                call("fv.verify", OUTPUT, Name("trips")),
            ]
        )

    def _crowd(self) -> tuple[str, ...]:
        return tuple(name for name in _CROWD_NAMES if name != "k" or self.preset is None)


class Points(Settings):
    """What a few budgets give."""

    budgets: Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=5)]
