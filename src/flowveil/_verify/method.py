"""Which method a release says it was made with, and the options that were typed for it.

Names and kinds of options are written down here a second time: they are a part of the format, and a test compares them
with the registry of methods. What a method's releases look like is in `shape`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flowveil._verify.broken import broken, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flowveil._folder import Json

NO_OPTIONS = object()  # stands for a manifest that has none
_LARGEST = 10**15  # that an option may be
_AREA_METHODS: dict[str, dict[str, type]] = {
    "mosaic": {"time_weight": float, "keep_safe": bool, "budget": str},
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
HAS_MARGINALS = "noisy-tree"  # the method with noise that tells how trips lie inside boxes
MAY_HAVE_MARGINALS = "noisy-mosaic"  # if its budget says so: how trips lie inside areas of zones
BETWEEN_AREAS = (
    MAY_HAVE_MARGINALS,
    LISTS_POSITIVE,
)  # methods with noise between areas, not of boxes
_NOISY_METHODS: dict[str, dict[str, type]] = {
    "identity": {"max_cells": int},
    "uniform": {"max_cells": int},
    "eug": {"query_share": float, "border": float, "total_share": float, "max_cells": int},
    "eug-border": {"query_share": float, "border": float, "total_share": float, "max_cells": int},
    "ebp": {"total_share": float, "max_cells": int},
    "mkm": {"variant": str, "total_share": float, "max_cells": int},
    "daf-entropy": {"total_share": float, "stop_below": float, "consistent": bool, "max_cells": int},
    "daf-homogeneity": {
        "cut_share": float,
        "candidate_cuts": int,
        "total_share": float,
        "stop_below": float,
        "consistent": bool,
        "max_cells": int,
    },
    "privtree": {"tree_share": float, "max_cells": int},
    HAS_MARGINALS: {"tree_share": float, "marginal_share": float, "max_cells": int},
    LISTS_POSITIVE: {"max_cells": int},
    MAY_HAVE_MARGINALS: {"marginal_share": float, "consistent": bool, "max_cells": int},
}
_VALUES: dict[str, Callable[[Json], bool]] = {  # what options may be, where their type leaves more
    "budget": lambda value: value in ("whole", "each"),
    "side": lambda value: value in ("either", "origin", "destination"),
    "v_target": lambda value: value in ("auto", "balanced") or _is_positive(value),
    "lam": lambda value: value == "auto" or _is_positive(value),
    "precision": lambda value: value in ("tiles", "steps"),
    "time_weight": lambda value: 0 <= value <= _LARGEST,
    "levels": lambda value: 0 <= value <= _LARGEST,
    "filter_budget": lambda value: 0 <= value <= 1,
    "balance": lambda value: 0 <= value < 1,
    "delta": lambda value: 0 <= value <= _LARGEST,
    "max_flows": lambda value: 1 <= value <= _LARGEST,
    "steps": lambda value: 0 <= value <= _LARGEST,
    "max_cells": lambda value: 1 <= value <= _LARGEST,
    "variant": lambda value: value in ("lei", "daf"),
    "query_share": lambda value: 0 <= value <= 1,
    "border": lambda value: 0 < value <= _LARGEST,
    "total_share": lambda value: 0 < value < 1,
    "stop_below": lambda value: 1 <= value <= _LARGEST,
    "tree_share": lambda value: 0 < value < 1,
    "marginal_share": lambda value: 0 <= value < 1,
    "cut_share": lambda value: 0 < value < 1,
    "candidate_cuts": lambda value: 2 <= value <= _LARGEST,
}


def check_method(name: Json, options: Json) -> None:
    """Raise unless a method of that name promises k-anonymity and takes these options."""
    if not isinstance(name, str) or name not in _AREA_METHODS:
        raise broken("'method' of the manifest is not a method of k-anonymity")
    if isinstance(options, dict) and list(options) != sorted(options):
        raise broken("'method_options' of the manifest is not an object with sorted keys")
    extra: dict[str, Callable[[Json], bool]] = {
        "loss": lambda value: value in _LOSSES,
        "max_gbar": lambda value: type(value) in (int, float) and 0 < value <= _LARGEST,
    }
    _check_options(name, options, _AREA_METHODS[name], extra if name in _CHOOSE_LOSS else {})


def check_noisy_method(name: Json, options: Json, *, between_areas: bool) -> None:
    """Raise unless a method of that name adds noise to flows between areas, or to boxes, and takes these options."""
    if not isinstance(name, str) or name not in _NOISY_METHODS or (name in BETWEEN_AREAS) != between_areas:
        what = "flows between areas" if between_areas else "boxes"
        raise broken(f"the method {shown(name)!r} is none that adds noise to {what}")
    _check_options(name, options, _NOISY_METHODS[name], {})


def _check_options(
    name: str, options: Json, kinds: Mapping[str, type], extra: Mapping[str, Callable[[Json], bool]]
) -> None:
    if options is NO_OPTIONS:
        return
    if not isinstance(options, dict) or not options:
        raise broken("'method_options' of the manifest is not an object with sorted keys")
    for option, value in options.items():
        if option in extra:
            good = extra[option](value)
        else:
            good = option in kinds and type(value) is kinds[option] and _VALUES.get(option, _is_anything)(value)
        if not good:
            raise broken(f"the method option {shown(option)!r} is not one of {name} with such a value")


def _is_anything(_: Json) -> bool:
    return True


def _is_positive(text: Json) -> bool:
    """Whether a text is a positive number, as anyone may have typed it."""
    if not re.fullmatch(r"[0-9_.eE+-]{1,40}", text):
        return False
    try:
        return 0 < float(text) <= _LARGEST
    except ValueError:
        return False
