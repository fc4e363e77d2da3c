"""What the manifest promises, after checking that it says nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from flowveil._verify.broken import broken
from flowveil._verify.description import check_description
from flowveil._verify.hidden_choice import check_hidden_choice
from flowveil._verify.json import only_keys
from flowveil._verify.method import NO_OPTIONS, check_method
from flowveil._verify.options import Options, parse_options
from flowveil._verify.words import ABSENCE, ABSENCE_WITH_REMAINDERS, promise_in_words

if TYPE_CHECKING:
    from flowveil._folder import Json

_FORMAT = "flowveil-flows/1"
KEYS = ("format", "software", "method", "options", "promise", "promise_text", "absence")
_PROMISE_KEYS = ("kind", "k", "unit", "volumes", "areas")
_MORE_PROMISE_KEYS = (
    "weight",
    "trip_weight",
    "k_weight",
    "min_tiles",
    "max_share",
    "sensitive_tiles",
    "max_suppression",
    "elsewhere",
    "shapes",
    "totals",
    "remainders",
    "rounding",
    "cell_key",
    "protect_margins",
    "hidden_choice",
    "same_areas",
)
_SOFTWARE = r"flowveil [0-9]{1,3}(\.[0-9]{1,3}){2}[0-9a-z.+]{0,20}"  # a version as Python packages write it
_LARGEST_WHOLE = 2**62
_TRIP = "trip"  # the unit of a release that counts trips, not persons
_COUNTED = "counted person"  # and of one that adds up the persons of a table, each of whom is counted once
_AUTO = "auto"  # in place of a number that would come from the data
_MILLION = 1_000_000


@dataclass(frozen=True)
class Promise:
    """The promise as data."""

    k: int
    unit: str | None  # column of persons; None: trips are counted, or persons in a table
    exact: bool  # volumes are exact, but for rounding; otherwise lower bounds
    weight: str | None  # column of weights, of persons or of trips
    k_weight: Fraction | None  # also None where it is times the mean weight
    min_tiles: int
    max_suppression: float | None
    counted_persons: bool = False  # trips are persons: the input counts each of them once
    rectangles: bool = False  # areas are rectangles, not nodes of a hierarchy
    overlapping: bool = False  # they may overlap: a private assignment says which flow counts a trip
    weighs_trips: bool = False  # a person may have several weights, and they are no part of the tests
    times_mean: Fraction | None = None  # every flow stands for so many times the mean weight: known after counting
    totals: bool = False  # the group `total` counts all groups together
    remainders: bool = False  # a flow may count what finer flows inside it leave
    protect_margins: bool = False  # departures and arrivals tell of no smaller crowd
    rounding: int = 1  # numbers are multiples of it: 1 where they are exact
    cell_key: int = 0  # numbers may be changed by so much
    max_share: Fraction | None = None  # the largest share of a flow's trips that one person may make
    sensitive_tiles: int = 0  # the fewest tiles of an area that touches a sensitive place; 0: none is promised
    elsewhere: bool = False  # trips left out may be reported as flows to or from elsewhere
    hidden_choice: bool = False  # a secret draw decided which areas may be divided
    same_areas: bool = False  # all steps of time and groups have their pairs of areas in common

    @property
    def off(self) -> int:
        """By how much numbers may differ from true ones."""
        return self.rounding - 1 + self.cell_key

    @property
    def counted(self) -> str:
        """What k counts."""
        return "trips" if self.unit is None and not self.counted_persons else "persons"

    @property
    def least_weight(self) -> int:
        """Return k_weight in millionths, rounded up."""
        return 0 if self.k_weight is None else min(-(-self.k_weight * _MILLION // 1), _LARGEST_WHOLE)


def parse_manifest(manifest: Json) -> tuple[Options, Promise]:
    """Check every key and value of the manifest."""
    only_keys(manifest, "the manifest", KEYS, ("description",))
    if manifest["format"] != _FORMAT:
        raise broken(f"the format is not {_FORMAT}", "this version of flowveil verifies only that format")
    check_software(manifest["software"])
    options, promise = parse_options(manifest["options"]), _promise(manifest["promise"])
    check_method(manifest["method"], manifest["options"].get("method_options", NO_OPTIONS))
    if promise.hidden_choice:
        check_hidden_choice(manifest, options)
    _check_same_areas(manifest, options, promise)
    label = check_description(manifest, has_unit=promise.unit is not None)
    if manifest["promise_text"] != promise_in_words(manifest["promise"], label):
        raise broken("'promise_text' of the manifest does not say what the promise says")
    if manifest["absence"] != (ABSENCE_WITH_REMAINDERS if promise.remainders else ABSENCE):
        raise broken("'absence' of the manifest is not what the format says")
    return options, promise


def _check_same_areas(manifest: Json, options: Options, promise: Promise) -> None:
    """Raise if areas in common are promised without having been asked for, or where they cannot be."""
    others = (promise.totals, promise.remainders, promise.hidden_choice, promise.max_share, options.areas_from)
    each = manifest["options"].get("method_options", {}).get("budget") == "each"
    divided = bool(options.by or options.time_levels) and not options.is_hierarchy
    if promise.same_areas != options.same_areas:
        raise broken("the promise has areas in common and the options have not, or the reverse")
    if promise.same_areas and (manifest["method"] != "mosaic" or not divided or each or any(others)):
        raise broken("the promise has areas in common, which do not go with what else the manifest says")


def check_software(text: Json) -> None:
    """Raise unless this is a version of flowveil."""
    if not isinstance(text, str) or not re.fullmatch(_SOFTWARE, text):
        raise broken("'software' of the manifest is not a version of flowveil")


def _promise(promise: Json) -> Promise:
    if isinstance(promise, dict) and promise.get("kind") != "k-anonymity":
        raise broken("the promise is not k-anonymity", "this verifier checks k-anonymity only")
    only_keys(promise, "the promise", _PROMISE_KEYS, _MORE_PROMISE_KEYS)
    if promise["volumes"] not in ("exact", "lower-bound", "rounded", "perturbed"):
        raise broken("'volumes' of the promise is neither exact nor lower-bound, rounded or perturbed")
    if promise["areas"] not in ("disjoint", "overlapping"):
        raise broken("'areas' of the promise is neither disjoint nor overlapping")
    if promise["areas"] == "overlapping" and ("shapes" not in promise or promise["volumes"] != "lower-bound"):
        raise broken("the promise has overlapping areas that are not rectangles, or volumes that are not lower bounds")
    for flag in ("totals", "elsewhere", "remainders", "protect_margins", "same_areas"):
        if promise.get(flag, True) is not True:
            raise broken(f"{flag!r} of the promise is not true")
    _check_remainders(promise)
    _check_rounding(promise)
    _check_margins(promise)
    if promise.get("shapes", "rectangles") != "rectangles":
        raise broken("'shapes' of the promise is not rectangles")
    unit = _name(promise["unit"], "unit")
    weight = _weight(promise, unit)
    times = _times_mean(promise)
    return Promise(
        k=_whole(promise["k"], "k"),
        unit=None if unit in (_TRIP, _COUNTED) else unit,
        counted_persons=unit == _COUNTED,
        exact=promise["volumes"] != "lower-bound",
        rounding=promise.get("rounding", 1),
        cell_key=promise.get("cell_key", 0),
        protect_margins="protect_margins" in promise,
        weight=weight,
        weighs_trips="trip_weight" in promise,
        k_weight=None if times or "k_weight" not in promise else _positive(promise["k_weight"], "k_weight"),
        times_mean=times,
        min_tiles=_whole(promise.get("min_tiles", 1), "min_tiles"),
        max_suppression=_share(promise["max_suppression"]) if "max_suppression" in promise else None,
        max_share=_max_share(promise, unit) if "max_share" in promise else None,
        sensitive_tiles=_whole(promise["sensitive_tiles"], "sensitive_tiles") if "sensitive_tiles" in promise else 0,
        elsewhere="elsewhere" in promise,
        totals="totals" in promise,
        remainders="remainders" in promise,
        hidden_choice="hidden_choice" in promise,
        same_areas="same_areas" in promise,
        rectangles="shapes" in promise,
        overlapping=promise["areas"] == "overlapping",
    )


def _times_mean(promise: Json) -> Fraction | None:
    """Return how many times the mean weight a flow stands for: k times (auto), or as often as a text like 10x says."""
    text = promise.get("k_weight")
    if not isinstance(text, str):
        return None
    if text == _AUTO:
        return Fraction(promise["k"])
    if not re.fullmatch(r"[0-9]+([.][0-9]+)?(e-[0-9]+)?x", text) or not Fraction(text[:-1]):
        raise broken("k_weight of the promise is neither a number, nor auto, nor like 10x")
    return Fraction(text[:-1])


def _weight(promise: Json, unit: str) -> str | None:
    """Return the column of weights, if there is one."""
    names = [name for name in ("weight", "trip_weight") if name in promise]
    if len(names) > 1 or ("trip_weight" in names and unit == _TRIP):
        raise broken("the promise has weights of trips beside weights of persons, or without persons")
    if "k_weight" in promise and names != ["weight"]:
        raise broken("the promise has k_weight without weight")
    return _name(promise[names[0]], names[0]) if names else None


def _check_remainders(promise: Json) -> None:
    """Raise if the promise has remainders together with what does not hold for them."""
    others = any(name in promise for name in ("elsewhere", "totals", "shapes", "min_tiles", "sensitive_tiles"))
    if "remainders" in promise and (others or promise["volumes"] == "lower-bound"):
        raise broken("the promise has remainders, and volumes, shapes or flows that do not go with them")


def _check_margins(promise: Json) -> None:
    """Raise if the promise has protected margins together with what they do not hold for."""
    others = any(name in promise for name in ("elsewhere", "totals", "shapes", "remainders"))
    if "protect_margins" in promise and (others or promise["volumes"] == "lower-bound"):
        raise broken("the promise has protected margins, and volumes, shapes or flows that do not go with them")


def _check_rounding(promise: Json) -> None:
    """Raise if the base of rounded numbers is none, or goes with numbers that are not rounded."""
    for name, volumes in (("rounding", "rounded"), ("cell_key", "perturbed")):
        if (name in promise) != (promise["volumes"] == volumes):
            raise broken(f"the promise has {name} without {volumes} volumes, or the reverse")
        if name in promise and "shapes" in promise:
            raise broken(f"the promise has {name}, which needs areas of a tree")
    if "rounding" in promise and not 2 <= _whole(promise["rounding"], "rounding") <= _whole(promise["k"], "k"):
        raise broken("'rounding' of the promise is not from 2 to k")
    if "cell_key" in promise and ("weight" in promise or _whole(promise["cell_key"], "cell_key") >= promise["k"]):
        raise broken("'cell_key' of the promise is not below k, or goes with weights")


def _name(value: Json, key: str) -> str:
    if not isinstance(value, str) or not value:
        raise broken(f"{key!r} of the promise is not the name of a column")
    return value


def _whole(value: Json, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST_WHOLE:
        raise broken(f"{key!r} of the promise is not a whole number, 1 or more")
    return value


def _positive(value: Json, key: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LARGEST_WHOLE:
        raise broken(f"{key!r} of the promise is not a positive number")
    return Fraction(Decimal(repr(value)))  # the number as typed, not its nearest binary fraction


def _max_share(promise: Json, unit: str) -> Fraction:
    """Return the largest share of one person, or raise if it is promised where it cannot hold."""
    if unit in (_TRIP, _COUNTED):
        raise broken("the promise is about the share of one person, but has no unit")
    share = _positive(promise["max_share"], "max_share")
    if share >= 1:
        raise broken("'max_share' of the promise is not a share below 1")
    return share


def _share(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise broken("'max_suppression' of the promise is not a share from 0 to 1")
    return float(value)
