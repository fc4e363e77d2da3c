"""Checking the report of a written release: it says what the folder says, and nothing else."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._errors import InputError, VerificationError
from flowveil._folder import REPORT, read_files
from flowveil._report.content import make_report
from flowveil._report.context import read_context
from flowveil._report.shores import choose_ground

if TYPE_CHECKING:
    from flowveil._places import ZonesLike
    from flowveil._report.content import Show
    from flowveil._report.shores import Ground

CHECKED_REPORT = "report.html is what this version of flowveil makes of the other files"
_AGAIN = "make it again with flowveil report --overwrite, or remove it"
_GENERATOR = re.compile(rb'<meta name="generator" content="(flowveil [0-9A-Za-z.+]{1,40})">')
_GROUND = re.compile(rb'"ground":"([a-z]{1,10})/([0-9.]{1,20})","context":\[([a-z",]{0,100})\]')
_LARGEST = 100_000_000  # bytes


def check_report(path: str | Path, show: Show, context: ZonesLike | None = None) -> bool:
    """Whether a release has a report; raise unless it is, byte for byte, what the other files make.

    show: what a release of its kind shows. context: what the publisher shows beside it, if the report says so.
    Another version may draw another report, and what it should look like cannot be told: that is refused as well.
    """
    report = Path(path) / REPORT
    if not os.path.lexists(report):
        if context is not None:
            raise InputError("a context was given, and the release has no report", "leave out --context")
        return False
    if report.is_symlink() or not report.is_file():
        raise VerificationError(f"{REPORT} is not a plain file", _AGAIN)
    with report.open("rb") as file:
        content = file.read(_LARGEST)
    maker = _GENERATOR.search(content[:10_000])
    if maker is None:
        raise VerificationError(f"{REPORT} is not a report of flowveil", _AGAIN)
    own = f"flowveil {version('flowveil')}"
    if maker[1].decode() != own:
        raise VerificationError(f"{REPORT} was made by {maker[1].decode()}, which {own} cannot check", _AGAIN)
    ground = _ground_of(content, context)
    try:
        expected = make_report(show, read_files(path), ground).encode()
    except (InputError, KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise VerificationError(f"{REPORT} cannot be checked: the other files do not make one", _AGAIN) from None
    if content != expected:
        raise VerificationError(f"{REPORT} is not what the other files of the release make", _AGAIN)
    return True


def _ground_of(content: bytes, context: ZonesLike | None) -> Ground:
    """Return the ground that a report says it is drawn on; raise if it is not here, so that nobody can compare.

    What the page says is no more than a proposal: the page that is made on it has the same bytes, or is refused.
    """
    told = _GROUND.search(content)
    if told is None:
        raise VerificationError(f"{REPORT} is not a report of flowveil", _AGAIN)
    name, edition = told[1].decode(), told[2].decode()
    if bool(told[3]) != (context is not None):
        if context is None:
            raise VerificationError(f"{REPORT} shows a file of the publisher's", "give it with --context FILE")
        raise InputError(f"a context was given, and {REPORT} shows none", "leave out --context")
    shown = None if context is None else read_context(context)
    try:
        ground = replace(choose_ground(name), context=shown)
    except InputError as error:
        raise VerificationError(f"{REPORT} cannot be checked: {error.message}", f"{error.hint}, or {_AGAIN}") from None
    if ground.edition != edition:
        raise VerificationError(
            f"{REPORT} is drawn on the ground {name} {edition}, and here is {ground.edition}", _AGAIN
        )
    return ground
