"""Values of k that organizations use for mobility data; docs/people.md says what is known of each."""

from __future__ import annotations

from flowveil._errors import InputError, UnknownNameError

DEFAULT_K = 10
PRESETS = {"ine-15": 15, "mds-10": 10, "insee-11": 11, "cnil-10": 10, "flowkit-15": 15}


def choose_k(k: int | None, preset: str | None, unit: str | None) -> int:
    """Return the k that was typed or that a preset stands for; a preset is about persons, so it needs a unit."""
    if preset is None:
        return DEFAULT_K if k is None else k
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    if k not in (None, PRESETS[preset]):
        raise InputError(f"-k {k} is not the k of {preset}", f"leave out one of them; {preset} is -k {PRESETS[preset]}")
    if unit is None:
        raise InputError(f"{preset} counts persons, and no column of persons was named", "name it with --unit COLUMN")
    return PRESETS[preset]
