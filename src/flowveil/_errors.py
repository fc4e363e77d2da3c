"""Every error flowveil raises on purpose.

FlowveilError
├── InputError            bad input or usage (exit code 2)
│   └── UnknownNameError  a name that does not exist, with those that do
└── PromiseError          the promise cannot be kept (exit code 1)
    └── VerificationError a written release does not hold what it promises

FlowveilWarning               what Python is told by `warnings`, and the terminal as `note:` or `warning:`
├── DroppedRowsWarning        rows that cannot be used are in no flow
├── ImplausiblePlacesWarning  trips lie where hardly anybody lives, or far from all others
└── LossWarning               a result was made, and much was lost
"""

from __future__ import annotations

import re
import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


# Options as the command line spells them, with what comes before a value; commands and what a user wrote stay.
_OPTION = re.compile(
    r"""flowveil [a-z][^;,]*|'[^']*'|"[^"]*"|"""
    r"""(?<![\w-])-(?:-(?P<name>[a-z][a-z-]*[a-z])|(?P<letter>[a-z]))\b"""
    r"""(?P<value>=| (?=[A-Z\d"]|\S*[:=]|\w+-|spark|duckdb|laplace))?"""
)
_KEYWORDS = {"against": "trips", "option": "options"}  # whose names differ


class FlowveilError(Exception):
    """An error with a message that says what is wrong and a hint that says what to do.

    Both name options as the command line does; as text, for users of Python and of the app, they name keywords.

    >>> print(FlowveilError("the memory is not enough", "raise --memory, e.g. --memory 4GB"))
    the memory is not enough
    hint: raise memory=, e.g. memory=4GB
    """

    exit_code = 1

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(printable(message))
        self.message = printable(message)
        self.hint = printable(hint)

    def __str__(self) -> str:
        return "\nhint: ".join(self.with_keywords())

    def with_keywords(self) -> tuple[str, str]:
        """Return message and hint with the names of keywords in the place of options of the command line.

        >>> fv.InputError("no trips", "give them with --against INPUT").with_keywords()[1]
        'give them with trips=INPUT'
        """
        return in_keywords(self.message), in_keywords(self.hint)

    def __reduce__(self) -> tuple[Callable[..., FlowveilError], tuple[type[FlowveilError], str, str]]:
        # So that it can be sent to another process: subclasses are made from other arguments.
        return _remade, (type(self), self.message, self.hint)


def _remade(kind: type[FlowveilError], message: str, hint: str) -> FlowveilError:
    error = kind.__new__(kind)
    FlowveilError.__init__(error, message, hint)
    return error


class InputError(FlowveilError):
    """The input or the way flowveil was called cannot be used.

    >>> try:
    ...     fv.read_trips("nowhere.parquet")
    ... except fv.InputError as error:
    ...     print(error)
    there is no file 'nowhere.parquet'
    hint: check the path; quote a glob so that the shell leaves it
    """

    exit_code = 2


class UnknownNameError(InputError):
    """A name (column, method, option) that does not exist.

    >>> try:
    ...     fv.read_trips("trips.parquet", {"start_lon": "start_long"})
    ... except fv.UnknownNameError as error:
    ...     print(error.hint)
    did you mean 'start_lon'?
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = get_close_matches(str(name), names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(names) or 'none'}"
        super().__init__(f"there is no {kind} {name!r}", hint)


class PromiseError(FlowveilError):
    """No release can keep the promise that was asked for.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> try:
    ...     fv.anonymize(flows, k=101)
    ... except fv.PromiseError as error:
    ...     print(error.message)
    k is 101, but the data has 100 persons
    """


class VerificationError(PromiseError):
    """A release does not hold what its manifest promises.

    >>> try:
    ...     fv.verify("release", "trips.parquet", where="sex = 'female'")
    ... except fv.VerificationError as error:
    ...     print(error.message.partition(" (")[0])
    the flow 871fa6321ffffff
    """


class FlowveilWarning(UserWarning):
    """What a user of Python should hear though a result was made.

    >>> issubclass(fv.DroppedRowsWarning, fv.FlowveilWarning)
    True
    """


class DroppedRowsWarning(FlowveilWarning):
    """Rows of the input cannot be used: they are in no flow.

    >>> import pyarrow as pa, warnings
    >>> trips = pa.table({"start_lon": [4.5] * 9, "start_lat": [50.4] * 9, "end_lon": [4.6] * 9,
    ...                   "end_lat": [50.5] * 8 + [None]})
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     flows = fv.build_flows(trips)
    >>> print(heard[0].message, flows.dropped)
    1 of 9 rows dropped: null coordinate {'null coordinate': 1}
    """


class ImplausiblePlacesWarning(FlowveilWarning):
    """Trips lie where hardly anybody lives, or far from all others: columns may be exchanged.

    >>> import warnings
    >>> swapped = {"start_lon": "start_lat", "start_lat": "start_lon", "end_lon": "end_lat", "end_lat": "end_lon"}
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     flows = fv.build_flows(fv.read_trips("trips.parquet", swapped), "h3:7")
    >>> heard[0].category.__name__
    'ImplausiblePlacesWarning'
    """


class LossWarning(FlowveilWarning):
    """A release was made, but it lost far more than usual, at all or in some of its groups.

    >>> issubclass(fv.LossWarning, UserWarning)
    True
    """


def printable(text: str) -> str:
    """Return text with question marks for what cannot be printed: a stranger's file may have words for terminals."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def warn(text: str, category: type[FlowveilWarning]) -> None:
    """Let Python warn whoever called a function of flowveil, in words of Python."""
    warnings.warn(in_keywords(text), category, stacklevel=3)


def in_keywords(text: str) -> str:
    """Return text with the names of keywords in the place of options of the command line."""
    return _OPTION.sub(_keyword, text)


def _keyword(match: re.Match[str]) -> str:
    option = match["name"] or match["letter"]
    if option is None:
        return match[0]
    return _KEYWORDS.get(option, option.replace("-", "_")) + ("=True" if option == "overwrite" else "=")
