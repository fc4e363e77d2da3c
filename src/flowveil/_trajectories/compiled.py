"""How loops are compiled: kept on disk, and without Python's lock, so that threads share the work.

numba notices a change in a loop's own file only: after changing a loop that another file calls, remove `__pycache__`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

Given = ParamSpec("Given")
Result = TypeVar("Result")

Whole = Any  # an array of int32 or int64, or one of its numbers


def compiled(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Compile a loop when it is first called."""
    return cast("Callable[Given, Result]", njit(cache=True, nogil=True)(function))
