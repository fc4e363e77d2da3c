"""Files and folders that appear whole or not at all, whatever kills the process and whoever else writes there.

All is written to a hidden folder beside the target that only its owner can enter, and then put in place under a lock. A
folder goes together with the private files beside it: see docs/decisions/0021-folders-that-are-exchanged.md.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder.exchange import exchange
from flowveil._folder.json import read_json
from flowveil._folder.lock import hold_place
from flowveil._folder.names import BESIDE
from flowveil._folder.scratch import own_folder
from flowveil._options import check_flag, check_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flowveil._folder.json import Json

_NEW, _OLD, _STORY = "new", "old", "story.json"  # in the folder of a write that is under way
_PATIENCE = 60.0  # seconds to wait for others, who need milliseconds to put a folder in place
_ANOTHER = "choose another name, or add --overwrite"


def find_target(path: str | Path, kind: str) -> Path:
    """Return the whole path of a file or folder to write, or raise if nothing can be written there."""
    try:
        target = Path(check_path(path, "path")).resolve()
        str(target).encode()
    except (RuntimeError, UnicodeEncodeError):  # a link to itself, a name that is not text
        raise InputError(f"{str(path)!r} is not a {kind} to write to", "choose another name, e.g. -o out") from None
    if not target.name or target.is_symlink():
        raise InputError(f"{str(path)!r} is not a {kind} to write to", "choose another name, e.g. -o out")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {str(target.parent)!r} to write to", "make it first")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"the folder {str(target.parent)!r} cannot be written to", "choose another place")
    return target


def check_file(path: str | Path, *, overwrite: bool) -> Path:
    """Return the file to write, or raise if it may not be written."""
    check_flag(overwrite, "overwrite")
    target = find_target(path, "file")
    if target.exists():
        if not target.is_file():
            raise InputError(f"{str(path)!r} exists and is not a file", "choose another name")
        if not overwrite:
            raise InputError(f"the file {str(path)!r} exists", _ANOTHER)
    return target


def check_folder(path: str | Path, kind: str, is_own: Callable[[Path], bool], *, overwrite: bool) -> Path:
    """Return the folder to write, or raise if it may not be; is_own: whether one that is there is of its kind."""
    check_flag(overwrite, "overwrite")
    target = find_target(path, "folder")
    settle(target)
    if target.exists():
        if not target.is_dir():
            raise InputError(f"{str(path)!r} exists and is not a folder", "choose another name")
        if not overwrite:
            raise InputError(f"the folder {str(path)!r} exists", _ANOTHER)
        if not is_own(target):
            hint = "flowveil overwrites nothing but releases, comparisons and exports of its own"
            raise InputError(f"the folder {str(path)!r} is not {kind}", hint)
    return target


@contextmanager
def private_file(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Say where to write a file that nobody but its owner may ever read; it is put in place when the block is done."""
    with new_file(lambda: check_file(path, overwrite=overwrite)) as new:
        yield make_private(new)


@contextmanager
def public_file(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Say where to write a file for others; it is put in place when the block is done."""
    with new_file(lambda: check_file(path, overwrite=overwrite)) as new:
        yield new


def make_private(path: Path) -> Path:
    """Make an empty file (mode 0600), to be filled, and return its path."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


@contextmanager
def new_file(check: Callable[[], Path], home: Path | None = None) -> Iterator[Path]:
    """Say where to write the file that `check` allows and names; it asks once more before the file is put in place.

    home: the folder that the file belongs to, for one in it or beside it.
    """
    target = check()
    with own_folder(*_beside(home or target)) as stage:
        new = stage / target.name
        yield new
        _sync(new)
        with _held(home or target):
            _settle(home or target)
            new.replace(check())
            _sync(target.parent)


@contextmanager
def new_folder(check: Callable[[], Path], mode: int, beside: tuple[str, ...] = ()) -> Iterator[Path]:
    """Give a new folder to fill; it is put in place of the one that `check` allows and names when the block is done.

    beside: which private files belong to such a folder. Those that are written beside the new one (its path with this
    ending for a name) take the place of the old ones at the same moment, and old ones without a new one are removed.
    """
    target = check()
    with own_folder(*_beside(target)) as stage:
        new = stage / _NEW
        new.mkdir()
        yield new
        new.chmod(mode)
        story = {"folder": new.stat().st_ino, "beside": {ending: (stage / ending).exists() for ending in beside}}
        (stage / _STORY).write_text(json.dumps(story), encoding="utf-8")
        for item in (*new.iterdir(), *stage.iterdir(), stage):
            _sync(item)
        with _held(target):
            _settle(target)
            check()
            stage.rename(_pending(target))
            try:
                _swap(target)
            finally:
                _settle(target)


def _swap(target: Path) -> None:
    """Put the new folder in place: in one step, or where the system has none in two, with the old one kept."""
    new, old = _pending(target) / _NEW, _pending(target) / _OLD
    if not target.exists():
        new.rename(target)
    elif not exchange(new, target):
        target.rename(old)
        new.rename(target)
    _sync(target.parent)


def settle(target: Path) -> None:
    """Complete or undo what a process that was killed left half-way: call it before a folder is looked at."""
    if not target.name or not os.path.lexists(_pending(target)):
        return
    try:
        with _held(target):
            _settle(target)
    except OSError as error:
        raise InputError(
            f"a run that wrote {target.name!r} was killed, and what it left cannot be mended: {error.strerror}",
            "let the owner of the folder run flowveil verify on it",
        ) from None


def _settle(target: Path) -> None:
    """Decide by the folder: if it is the new one, its private files follow; if not, all that is new is dropped."""
    pending = _pending(target)
    if not os.path.lexists(pending):
        return
    if pending.is_symlink() or pending.stat().st_uid != os.getuid():
        raise InputError(f"{str(pending)!r} is not yours", "let its owner run flowveil verify on the folder beside it")
    old = pending / _OLD
    if old.exists() and not target.exists():
        old.rename(target)
    story = _read_story(pending / _STORY)
    if target.exists() and target.stat().st_ino == story["folder"]:
        _move_private(pending, target, story["beside"])
    elif old.exists():
        raise InputError(
            f"a run that replaced {target.name!r} was killed, and there is another folder of that name now",
            f"move one of them away: the release before is in {str(old)!r}",
        )
    with own_folder(*_beside(target)) as gone:
        pending.rename(gone)  # in one step, as nobody may take a part of it for the whole


def _move_private(pending: Path, target: Path, beside: dict[str, bool]) -> None:
    for ending in BESIDE:
        file = target.with_name(target.name + ending)
        if (pending / ending).exists():
            (pending / ending).replace(file)
        elif beside.get(ending) is False:
            file.unlink(missing_ok=True)
    _sync(target.parent)


def _read_story(path: Path) -> dict[str, Json]:
    """Return which folder is new and which private files go with it; of neither if there is no such file any more."""
    try:
        story = read_json(path)
        return {"folder": int(story["folder"]), "beside": dict(story["beside"])}
    except FileNotFoundError:
        return {"folder": None, "beside": {}}
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{str(path)!r} is not as flowveil wrote it", "move the folder that it is in away") from None


@contextmanager
def _held(target: Path) -> Iterator[None]:
    """Keep others from putting anything in this place while the block runs."""
    with ExitStack() as held:
        try:
            held.enter_context(hold_place(target, _PATIENCE))
        except BlockingIOError:
            raise InputError(f"another process is writing {str(target)!r}", "try again when it is done") from None
        yield


def _beside(target: Path) -> tuple[Path, str]:
    return target.parent, f".{target.name}.writing-"


def _pending(target: Path) -> Path:
    return target.with_name(f".{target.name}.pending")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
