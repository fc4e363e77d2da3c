"""Which options of a release go together, and why others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._options import DEFAULT_LOSS, check_flag
from flowveil._problem import LOSSES_OF_NODES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._methods import Method, Value

_HIDES = "mosaic"  # the method whose choice can be hidden


def check_share(max_share: float | None, method: Method, unit: str | None, *, together: bool) -> None:
    """Raise if the share of one person cannot be bounded; together: flows are subtracted from others."""
    if max_share is None:
        return
    if unit is None:
        raise InputError("max_share is about persons, and no column of them was named", "name it with --unit COLUMN")
    if not method.shares:
        raise InputError(
            f"{method.name} cannot keep out flows in which one person makes too many of the trips",
            "leave out --max-share, or use mosaic",
        )
    if together:
        raise InputError(
            "max_share does not go with totals or a release beside: what they leave of each other may be one person's",
            "leave out --max-share, or the others",
        )


def check_remainders(remainders: object, method: Method, loss: str, min_tiles: int, *, alone: bool) -> None:
    """Raise if remainders do not go with what else is asked; alone: nothing is said of trips beside the flows."""
    if not check_flag(remainders, "remainders"):
        return
    if not method.remainders:
        raise InputError(f"{method.name} publishes no remainders", "leave out --remainders, or use mosaic")
    if loss not in LOSSES_OF_NODES:
        raise InputError(
            f"what a remainder costs in {loss} depends on which trips remain",
            f"leave out --remainders, or use the loss {' or '.join(LOSSES_OF_NODES)}",
        )
    if min_tiles > 1:
        raise InputError(
            "of the areas of a remainder single tiles may remain, so min_tiles would not hold",
            "leave out --remainders or --min-tiles",
        )
    if not alone:
        raise InputError(
            "remainders do not go with elsewhere, totals, a release beside or the areas of an earlier one",
            "leave out --remainders, or the others",
        )


def check_margins(protect: object, *, others: bool) -> None:
    """Raise if margins are to be protected beside flows that are not one layer."""
    if check_flag(protect, "protect_margins") and others:
        raise InputError(
            "margins are not protected beside elsewhere, totals, remainders or another release",
            "leave out --protect-margins, or the others",
        )


def check_hidden_choice(
    share: float | None,
    method: Method,
    loss: str,
    min_tiles: int,
    *,
    alone: bool,
    masked: bool = False,
    of_mean: bool = False,
) -> None:
    """Raise if what else is asked tells of small parts whatever is drawn.

    alone: nothing but flows is published. masked: some pairs of areas that pass may not be published.
    of_mean: the people that a flow stands for are held against the mean weight.
    """
    if share is None:
        return
    if masked:
        raise InputError(
            "max_share and sensitive places divide pairs of areas, or leave them out, whatever is drawn",
            "leave out --hide-choice, or --max-share and --sensitive",
        )
    if of_mean:
        raise InputError(
            "with times the mean weight it depends on everybody in the data which pairs of areas could be divided",
            "leave out --hide-choice, or give --k-weight a number",
        )
    if method.name != _HIDES:
        raise InputError(f"{method.name} does not hide its choice", f"leave out --hide-choice, or use {_HIDES}")
    if loss != DEFAULT_LOSS:
        raise InputError(
            f"with the loss {loss} smaller areas may be worse, so that a choice cannot be hidden",
            f"leave out --hide-choice, or use the loss {DEFAULT_LOSS}",
        )
    if min_tiles > 1:
        raise InputError(
            "an area of min_tiles tells that so many tiles were seen, whatever is drawn",
            "leave out --hide-choice or --min-tiles",
        )
    if not alone:
        raise InputError(
            "remainders, elsewhere, totals, protected margins, a release beside and the areas of an earlier one do not "
            "go with a hidden choice: they tell more than flows",
            "leave out --hide-choice, or the others",
        )


_APART = {  # from areas in common, and why
    "--totals": "totals have areas of their own",
    "--remainders": "a remainder in one step would be a whole flow in another",
    "--hide-choice": "a draw for each step would give each areas of its own",
    "--max-share": "a flow in which one person makes too many trips may hold finer ones in which nobody does",
    "--areas-from": "areas of an earlier release are the same for all steps already",
    "budget=each": "with a budget for each step, each has areas of its own",
}


def check_same_areas(same: object, method: Method, typed: Mapping[str, Value], others: Mapping[str, object]) -> None:
    """Raise if all steps of time and groups cannot have their areas in common; others: values by option."""
    if not check_flag(same, "same_areas"):
        return
    if not method.same_areas:
        raise InputError(f"{method.name} chooses areas for each matrix", "leave out --same-areas, or use mosaic")
    asked = {**others, "budget=each": typed.get("budget") == "each"}
    for name, reason in _APART.items():
        if asked[name]:
            raise InputError(f"{name} does not go with areas in common: {reason}", f"leave out {name} or --same-areas")


def check_keep_safe(typed: Mapping[str, Value], min_tiles: int, hidden: float | None, *, same_areas: bool) -> None:
    """Raise if pairs of tiles that pass cannot be kept beside what else is asked."""
    if not typed.get("keep_safe"):
        return
    reasons = {
        "--min-tiles": (min_tiles > 1, "single tiles fail, so none would be kept"),
        "--hide-choice": (hidden is not None, "pairs that pass would be kept whatever is drawn"),
        "--same-areas": (same_areas, "a pair that passes in one step fails in another"),
    }
    for name, (given, reason) in reasons.items():
        if given:
            raise InputError(f"{name} does not go with keep_safe: {reason}", f"leave out {name} or keep_safe")
