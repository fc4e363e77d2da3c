"""Trajectories in which every member was seen in every sample: what the manifest may say, what samples must hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json

STEERING_OPTIONS = ("complete_support", "price", "max_mean_extent", "max_mean_duration")
METERS, MINUTES = {"m": 1, "km": 1000}, {"min": 1, "h": 60, "d": 1440}
_ROUNDING = 1e-6  # relative: of means


def read_amount(text: Json, units: dict[str, int]) -> float | None:
    """Return an amount like 15km, None if this is none."""
    written = isinstance(text, str) and re.fullmatch(
        rf"\s*([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)\s*({'|'.join(units)})\s*", text
    )
    return float(written[1]) * units[written[2]] if written else None


def check_steering(manifest: dict[str, Json]) -> None:
    """Check that support is promised where the method has it, and that at most one thing steers the price."""
    options, promise, method = manifest["options"], manifest["promise"], manifest["method"]
    complete = method == "gather" or "complete_support" in options
    if ("support" in promise) != complete or promise.get("support", "complete") != "complete":
        raise broken("'support' of the promise and the method do not say the same")
    if options.get("complete_support", True) is not True or (method != "glove" and "complete_support" in options):
        raise broken("'complete_support' of the manifest is not what may be typed")
    if method == "gather" and ({"reshape", "blocks"} & set(options) or options.get("variant") == "loose"):
        raise broken("the manifest has options of another method")
    price = options.get("price", 1)
    if type(price) not in {int, float} or not 0 < price < float("inf"):
        raise broken("'price' of the manifest is not what may be typed")
    means = {"max_mean_extent": METERS, "max_mean_duration": MINUTES}
    for name, units in means.items():
        if name in options and read_amount(options[name], units) is None:
            raise broken(f"{name!r} of the manifest cannot be read")
    asked = [name for name in ("price", "max_suppression") if name in options] + ["means"] * bool(
        set(means) & set(options)
    )
    if len(asked) != 1 if complete else any(name in options for name in ("price", *means)):
        raise broken("the manifest does not have one price, budget or precision, or has one without complete support")


def check_everybody_seen(support: IntArray, size: IntArray) -> None:
    """Check that as many users were seen in each sample as its group has."""
    if (support < size).any():
        raise broken("a member of a group was not seen in one of its samples")


def check_means(options: dict[str, Json], meters: FloatArray, minutes: FloatArray, size: IntArray) -> None:
    """Check the mean extent and duration of samples, each counted as often as it has users."""
    for name, values, units in (("max_mean_extent", meters, METERS), ("max_mean_duration", minutes, MINUTES)):
        most = read_amount(options.get(name), units)
        if most is not None and float(np.average(values, weights=size)) > most * (1 + _ROUNDING):
            raise broken(f"the mean over samples is larger than {name!r} of the manifest")
