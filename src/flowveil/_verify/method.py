"""Which method a release says it was made with, and the options that were typed for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from flowveil._methods import methods
from flowveil._problem import LOSSES
from flowveil._verify.broken import broken, shown

if TYPE_CHECKING:
    from flowveil._methods import Method

_WORD = r"[A-Za-z0-9_.+-]{1,40}"  # names and numbers; no option takes prose
_LARGEST = 1e300
_DEFAULT_LOSS = "tiles"  # is not written


def check_method(name: Any, options: Any) -> None:
    """Raise unless a method of that name promises k-anonymity and takes these options; None stands for no options."""
    known = [method for method in methods() if method.promise == "k-anonymity" and method.name == name]
    if not known:
        raise broken("'method' of the manifest is not a method of k-anonymity")
    if options is None:
        return
    if not isinstance(options, dict) or not options or list(options) != sorted(options):
        raise broken("'method_options' of the manifest is not an object with sorted keys")
    for option, value in options.items():
        if not _is_allowed(known[0], option, value):
            raise broken(f"the method option {shown(option)!r} is not one of {known[0].name} with such a value")


def _is_allowed(method: Method, name: str, value: Any) -> bool:
    if name == "loss" and method.losses:
        return value in LOSSES and value != _DEFAULT_LOSS
    if name == "max_gbar" and method.losses:
        return type(value) in (int, float) and 0 < value <= _LARGEST
    kinds = {option.name: type(option.default) for option in method.options}
    if name not in kinds or type(value) is not kinds[name]:
        return False
    if isinstance(value, str):
        return re.fullmatch(_WORD, value) is not None
    return abs(value) <= _LARGEST
