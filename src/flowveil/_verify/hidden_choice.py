"""A choice of areas that a secret draw hides: what it goes with, and that the secret is kept, and kept apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._folder import Json
    from flowveil._verify.options import Options

_LEAST, _LARGEST = 0.01, 0.95
_TELL_MORE = (
    "min_tiles",
    "max_share",
    "sensitive_tiles",
    "elsewhere",
    "shapes",
    "totals",
    "remainders",
    "protect_margins",
)  # what tells of small parts by itself


def check_hidden_choice(manifest: Mapping[str, Json], options: Options) -> None:
    """Raise if the promise of a hidden choice is no chance, or goes with what tells of small parts anyway."""
    promise, chance = manifest["promise"], manifest["promise"]["hidden_choice"]
    if isinstance(chance, bool) or not isinstance(chance, int | float) or not _LEAST <= chance <= _LARGEST:
        raise broken("'hidden_choice' of the promise is not a chance from 0.01 to 0.95")
    typed = manifest["options"].get("method_options") or {}
    more = [name for name in _TELL_MORE if name in promise]
    if manifest["method"] != "mosaic" or "loss" in typed or options.areas_from or more:
        raise broken("the promise has a hidden choice with a method, loss or flows that do not go with it")
    if options.aspect is not None:
        raise broken("the promise has a hidden choice of areas that are drawn around the tiles seen")


def check_secret(folder: Path, audit: Mapping[str, Json], *, needed: bool) -> None:
    """Raise if a file of the folder tells the secret that chance was drawn from, or the audit file lost it.

    needed: areas were drawn by it. Without an audit file there is nothing to compare with.
    """
    secret = audit.get("secret")
    if secret is None and not (needed and audit):
        return
    if not isinstance(secret, str) or not re.fullmatch("[0-9a-f]{64}", secret):
        raise broken("the audit file has no secret that areas were drawn by", "keep the file that anonymize wrote")
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        if bytes.fromhex(secret) in content or secret.encode() in content.lower():
            raise broken(f"the secret that chance was drawn from is in {path.name}")
