"""Every method, with what it promises and the options it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowveil._errors import InputError, UnknownNameError
from flowveil.methods import odkanon, suppression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flowveil.problem import Problem, Solution

Value = bool | int | float | str


@dataclass(frozen=True)
class Option:
    """An option of one method; values given as text are read as the type of the default."""

    name: str
    default: Value
    meaning: str

    def parse(self, value: Any) -> Value:
        """Return `value` in the type of the default, or raise."""
        kind = type(self.default)
        try:
            if kind is bool:
                return value if isinstance(value, bool) else {"true": True, "false": False}[str(value).lower()]
            return kind(str(value))
        except (KeyError, TypeError, ValueError):
            words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
            raise InputError(f"the option {self.name} is {value!r}", f"{self.name} is {words[kind]}") from None


@dataclass(frozen=True)
class Method:
    """A way to turn flows into a release."""

    name: str
    family: str
    promise: str
    summary: str
    steers: bool  # can it keep suppression within a budget?
    solve: Callable[..., Solution]
    options: tuple[Option, ...] = ()

    def parse_options(self, given: Mapping[str, Any] | None) -> dict[str, Value]:
        """Return the options given, checked."""
        known = {option.name: option for option in self.options}
        for name in given or {}:
            if name not in known:
                raise UnknownNameError(f"option of {self.name}", name, known)
        return {name: known[name].parse(value) for name, value in (given or {}).items()}

    def run(self, problem: Problem, options: Mapping[str, Value]) -> Solution:
        """Solve a problem."""
        return self.solve(problem, **options)


_METHODS = (
    Method(
        name="suppression",
        family="tiles",
        promise="k-anonymity",
        summary="publish the tile pairs that pass, drop the rest",
        steers=False,
        solve=suppression.solve,
    ),
    Method(
        name="odkanon",
        family="one cut per axis",
        promise="k-anonymity",
        summary="filter hopeless pairs, then merge sibling areas until all pass (ODkAnon)",
        steers=True,
        solve=odkanon.solve,
        options=(
            Option("levels", 3, "steps up within which a tile pair must pass, or it is filtered"),
            Option("filter_budget", 0.10, "most tile pairs that may be filtered, as a share"),
            Option("balance", 0.03, "how far origins per destination may stray before one axis is forced"),
            Option("reinstate", default=True, meaning="count filtered trips again in flows that are published anyway"),
        ),
    ),
)


def methods() -> list[Method]:
    """Return every method, by name."""
    return sorted(_METHODS, key=lambda method: method.name)


def find_method(name: str) -> Method:
    """Return the method of that name, or raise with those that exist."""
    known = {method.name: method for method in _METHODS}
    if name not in known:
        raise UnknownNameError("method", name, known)
    return known[name]
