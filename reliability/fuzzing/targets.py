"""All targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reliability.fuzzing.combinations import COMBINATIONS
from reliability.fuzzing.commands import COMMANDS
from reliability.fuzzing.folders import FOLDERS
from reliability.fuzzing.readers import READERS
from reliability.fuzzing.texts import TEXTS

if TYPE_CHECKING:
    from reliability.fuzzing.target import Target

TARGETS = (*TEXTS, *READERS, *FOLDERS, *COMMANDS, *COMBINATIONS)


def find_target(name: str) -> Target:
    """Return the target of a name, or leave with those that exist."""
    known = {target.name: target for target in TARGETS}
    if name not in known:
        raise SystemExit(f"there is no target {name!r}; there are {', '.join(known)}")
    return known[name]
