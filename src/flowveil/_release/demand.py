"""What is asked of a release, checked as far as that is possible without trips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from flowveil._errors import InputError
from flowveil._methods import find_method
from flowveil._options import (
    DEFAULT_LOSS,
    check_flag,
    check_path,
    choose_k,
    draw_secret,
    parse_cell_key,
    parse_choice,
    parse_k_weight,
    parse_max_gbar,
    parse_max_share,
    parse_max_suppression,
    parse_min_tiles,
    parse_rounding,
    read_secret,
)
from flowveil._problem import LOSSES, LOSSES_OF_NODES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from flowveil._methods import Method, Value

DEFAULT_METHOD = "mosaic"
DEFAULT_SUPPRESSION = 0.10
_ANONYMITY = "k-anonymity"


@dataclass(frozen=True)
class Demand:
    """What is asked of a method: all of it was checked, but for what depends on flows."""

    method: Method
    k: int
    k_weight: float | Literal["auto"] | None
    min_tiles: int
    loss: str
    options: dict[str, Value]  # of the method
    share: float | None = None  # the largest share of trips that may be left out; None: any
    max_gbar: float | None = None
    remainders: bool = False  # may a flow count what finer flows inside it leave?
    several: bool = False  # may areas be split in several ways, where their hierarchy has them?
    protect_margins: bool = False  # may others know departures and arrivals?
    rounding: int | None = None  # the base that numbers are rounded to
    cell_key: int | None = None  # by how much they may be changed
    secret: bytes | None = None  # what chance is drawn from
    max_share: float | None = None  # the largest share of a flow that one person may make


def parse_demand(
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    *,
    preset: str | None = None,
    unit: str | None = None,
    max_suppression: float | None = None,
    max_gbar: float | None = None,
    loss: str = DEFAULT_LOSS,
    k_weight: float | Literal["auto"] | None = None,
    min_tiles: int = 1,
    max_share: float | None = None,
    elsewhere: bool = False,
    totals: bool = False,
    remainders: bool = False,
    protect_margins: bool = False,
    rounding: int | None = None,
    cell_key: int | None = None,
    secret: str | Path | None = None,
    beside: str | Path | None = None,
    areas_from: str | Path | None = None,
    options: Mapping[str, Value] | Sequence[str] | None = None,
) -> Demand:
    """Return what is asked of a release (see `anonymize`), or raise if it does not go together.

    unit: the column of persons, if there is one.
    """
    chosen = find_method(method)
    if chosen.promise != _ANONYMITY:
        raise InputError(
            f"{chosen.name} adds noise: it starts from trips in a public box, not from flows",
            "give --epsilon E and --bbox W,S,E,N; in Python, call add_noise",
        )
    if parse_choice(loss, "loss", LOSSES) != DEFAULT_LOSS and not chosen.losses:
        raise InputError(f"{chosen.name} does not choose by loss", "leave out the loss, or use mosaic")
    flags = check_flag(elsewhere, "elsewhere"), check_flag(totals, "totals"), beside is not None
    if sum(flags) > 1:  # each is checked against the flows of groups only
        raise InputError("elsewhere, totals and a release beside do not go together", "choose one of them")
    for name, folder in (("beside", beside), ("areas_from", areas_from)):
        if folder is not None:
            check_path(folder, name)
    _check_margins(protect_margins, others=any(flags) or remainders)
    if check_flag(remainders, "remainders"):
        _check_remainders(chosen, loss, parse_min_tiles(min_tiles), alone=not any(flags) and areas_from is None)
    if max_share is not None:
        _check_share(chosen, unit, together=totals or beside is not None)
    typed = chosen.parse_options(options)
    share = _share(chosen, max_suppression, max_gbar)
    if areas_from is not None:
        if chosen.name != DEFAULT_METHOD or typed or max_gbar is not None:
            raise InputError(
                "the areas of an earlier release leave nothing to choose", "leave out method, options and max_gbar"
            )
        share = parse_max_suppression(max_suppression)
    crowd = choose_k(k, preset, unit)
    base = _rounding(rounding, crowd, alone=beside is None)
    change = _cell_key(cell_key, crowd, alone=beside is None and base is None)
    return Demand(
        chosen,
        crowd,
        parse_k_weight(k_weight),
        parse_min_tiles(min_tiles),
        loss,
        typed,
        share,
        parse_max_gbar(max_gbar),
        remainders=remainders,
        # What these add is safe where areas hold each other or have nothing in common: in one tree.
        several=chosen.several and not any(flags) and not protect_margins and areas_from is None,
        protect_margins=protect_margins,
        rounding=base,
        cell_key=change,
        secret=_secret(secret, changes=base is not None or change is not None),
        max_share=parse_max_share(max_share),
    )


def _check_share(method: Method, unit: str | None, *, together: bool) -> None:
    """Raise if the share of one person cannot be bounded; together: flows are subtracted from others."""
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


def _check_remainders(method: Method, loss: str, min_tiles: int, *, alone: bool) -> None:
    """Raise if remainders do not go with what else is asked; alone: nothing is said of trips beside the flows."""
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


def _check_margins(protect: object, *, others: bool) -> None:
    """Raise if margins are to be protected beside flows that are not one layer."""
    if check_flag(protect, "protect_margins") and others:
        raise InputError(
            "margins are not protected beside elsewhere, totals, remainders or another release",
            "leave out --protect-margins, or the others",
        )


def _rounding(value: int | None, k: int, *, alone: bool) -> int | None:
    """Return the base of rounded numbers; one above k would make some of them 0. alone: not beside another release."""
    base = parse_rounding(value)
    if base is not None and not alone:
        raise InputError("a release with rounded numbers cannot be verified beside another one", "leave out --rounding")
    if base is not None and base > k:
        raise InputError(
            f"numbers cannot be rounded to {base}: some of the flows, of {k} or more, would be 0",
            f"round to at most {k}, or ask for a larger k",
        )
    return base


def _cell_key(value: int | None, k: int, *, alone: bool) -> int | None:
    """Return by how much numbers may be changed. alone: neither rounded nor beside another release."""
    most = parse_cell_key(value)
    if most is not None and not alone:
        raise InputError(
            "numbers that are changed by cell keys are not rounded too, nor verified beside another release",
            "leave out --cell-key, or the other",
        )
    if most is not None and most >= k:
        raise InputError(
            f"numbers cannot be changed by {most}: some of the flows, of {k} or more, would have nobody",
            f"change them by less than {k}, or ask for a larger k",
        )
    return most


def _secret(path: str | Path | None, *, changes: bool) -> bytes | None:
    """Return what chance is drawn from, where it is needed: from a file, else a new one."""
    if not changes:
        if path is not None:
            raise InputError(
                "a secret was given, but nothing is left to chance", "add --rounding or --cell-key, or leave it out"
            )
        return None
    return draw_secret() if path is None else read_secret(path)


def _share(method: Method, max_suppression: float | None, max_gbar: float | None) -> float | None:
    if max_gbar is not None:
        if max_suppression is not None:
            raise InputError("both max_suppression and max_gbar were given", "choose one: a budget or a precision")
        if not method.losses:
            raise InputError(f"{method.name} cannot be steered to a precision", "leave out max_gbar, or use mosaic")
        return None
    if max_suppression is None:
        return DEFAULT_SUPPRESSION if method.steers else None
    return parse_max_suppression(max_suppression)
