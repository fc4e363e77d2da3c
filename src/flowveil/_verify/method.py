"""Which method a release says it was made with, and the options that were typed for it.

Names and kinds of options are written down here a second time: they are a part of the format, and a test compares them
with the registry of methods.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flowveil._verify.broken import broken, shown

if TYPE_CHECKING:
    from flowveil._folder import Json

_AREA_METHODS: dict[str, dict[str, type]] = {
    "mosaic": {"time_weight": float, "budget": str},
    "nested": {"side": str, "budget": str},
    "crosscut": {"budget": str},
    "atg-dual": {"v_target": str, "one_target": bool},
    "atg-soft": {"v_target": str, "lam": str, "one_target": bool},
    "suppression": {},
    "odkanon": {"levels": int, "filter_budget": float, "balance": float, "reinstate": bool},
    "oigh": {"precision": str},
    "knapsack": {"v_target": str, "delta": float, "one_target": bool},
    "mondrian": {},
    "glove-od": {},
    "glove-sk": {"max_flows": int},
    "uniform-tiles": {"steps": int},
}
_CHOOSE_LOSS = ("mosaic", "nested", "crosscut", "atg-dual")  # take `loss` and `max_gbar`, too
_LOSSES = ("metres", "reconstruction", "area")  # the default, tiles, is not written
LISTS_POSITIVE = "laplace"  # the method with noise that leaves out counts below one
NOISY_METHODS = (
    "identity",
    "uniform",
    "eug",
    "eug-border",
    "ebp",
    "mkm",
    "daf-entropy",
    "daf-homogeneity",
    LISTS_POSITIVE,
    "noisy-mosaic",
)
_WORD = r"[A-Za-z0-9_.+-]{1,40}"  # names and numbers; no option takes prose
_LARGEST = 1e300


def check_method(name: Json, options: Json) -> None:
    """Raise unless a method of that name promises k-anonymity and takes these options; None stands for no options."""
    if not isinstance(name, str) or name not in _AREA_METHODS:
        raise broken("'method' of the manifest is not a method of k-anonymity")
    if options is None:
        return
    if not isinstance(options, dict) or not options or list(options) != sorted(options):
        raise broken("'method_options' of the manifest is not an object with sorted keys")
    for option, value in options.items():
        if not _is_allowed(name, option, value):
            raise broken(f"the method option {shown(option)!r} is not one of {name} with such a value")


def _is_allowed(method: str, option: str, value: Json) -> bool:
    if option == "loss" and method in _CHOOSE_LOSS:
        return value in _LOSSES
    if option == "max_gbar" and method in _CHOOSE_LOSS:
        return type(value) in (int, float) and 0 < value <= _LARGEST
    kind: type = type(value)
    if kind is not _AREA_METHODS[method].get(option):
        return False
    return re.fullmatch(_WORD, value) is not None if isinstance(value, str) else -_LARGEST <= value <= _LARGEST
