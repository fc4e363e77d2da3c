"""What the page asks for: the options of `flowveil anonymize`, with files by their ids."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from flowveil._errors import InputError
from flowveil._options import DEFAULT_K, DEFAULT_LOSS, parse_k, parse_k_weight, parse_max_suppression, parse_min_tiles
from flowveil._release import DEFAULT_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._app.files import Files
    from flowveil._folder import Json


class SettingError(InputError):
    """A setting that cannot be used."""


def _read(parse: Callable[[object], object]) -> BeforeValidator:
    """Return how a setting is read: as the library reads it, so that nothing else is taken for a number."""

    def read(value: object) -> object:
        try:
            return parse(value)
        except InputError as error:
            raise SettingError(error.message, error.hint) from None

    return BeforeValidator(read)


Text = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Words = Annotated[dict[Text, Annotated[str, StringConstraints(max_length=300)]], Field(max_length=20)]

_TRIP_NAMES = ("grid", "hierarchy", "bbox", "unit", "weight", "time", "timezone", "by")
_DEMAND_NAMES = ("method", "k", "k_weight", "min_tiles", "loss", "max_suppression")
_ALWAYS = ("method", "k")  # said even where they are the default: these make the promise
_OUTPUT = "out"


class Settings(BaseModel):
    """Options under the names they have on the command line. There is no `where`: a page must not send SQL."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trips: Text  # id of a file
    zones: Text | None = None  # id of a file
    grid: Text | None = None
    hierarchy: Text | None = None
    bbox: Text | None = None
    columns: Words = {}
    unit: Text | None = None
    weight: Text | None = None
    time: Text | None = None
    timezone: Text | None = None
    by: Text | None = None  # columns, with commas between them
    method: Text = DEFAULT_METHOD
    k: Annotated[int, _read(parse_k)] = DEFAULT_K
    k_weight: Annotated[Literal["auto"] | float | None, _read(parse_k_weight)] = None
    min_tiles: Annotated[int, _read(parse_min_tiles)] = 1
    loss: Text = DEFAULT_LOSS
    max_suppression: Annotated[float | None, _read(parse_max_suppression)] = None
    elsewhere: bool = False
    report: bool = False
    options: Words = {}

    def places(self, files: Files) -> dict[str, Json]:
        """Return which trips are counted between which places, for the worker: equal settings give equal texts."""
        zones = None if self.zones is None else str(files[self.zones].path)
        return self.model_dump(include={*_TRIP_NAMES, "columns"}) | {
            "trips": str(files[self.trips].path),
            "zones": zones,
        }

    def demand(self) -> dict[str, Json]:
        """Return what is asked of the method, as `frontier` takes it."""
        return self.model_dump(include={"method", "k", "k_weight", "min_tiles", "loss", "options"})

    def steer(self) -> dict[str, Json]:
        """Return what else `anonymize` takes."""
        return self.model_dump(include={"max_suppression", "elsewhere"})

    def command(self, files: Files) -> str:
        """Return the command line that gives the same release, ready for a shell."""
        words = ["flowveil", "anonymize", _path(files[self.trips].name), "-o", _OUTPUT]
        if self.zones is not None:
            words += ["--zones", _path(files[self.zones].name)]
        if self.columns:
            words += ["--columns", ",".join(f"{name}={_column(column)}" for name, column in self.columns.items())]
        for name in (*_TRIP_NAMES, *_DEMAND_NAMES):
            value = getattr(self, name)
            if name in _ALWAYS or value != type(self).model_fields[name].default:
                words += _option(name, value if isinstance(value, str) else _number(value))
        words += [f"--{name}" for name in ("elsewhere", "report") if getattr(self, name)]
        for name, value in self.options.items():
            words += ["--option", f"{name}={value}"]
        return shlex.join(words)


def _path(name: str) -> str:
    return f"./{name}" if name.startswith("-") else name


def _option(name: str, value: str) -> list[str]:
    """Return an option; a value that looks like one is tied to its name."""
    spelled = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    return [f"{spelled}={value}"] if value.startswith("-") else [spelled, value]


def _column(name: str) -> str:
    if "," in name or name != name.strip():
        raise InputError(f"the column {name!r} cannot be mapped", "rename it: its name has a comma or blanks at an end")
    return name


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
