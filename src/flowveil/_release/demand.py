"""What is asked of a release, checked as far as that is possible without trips."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import token_bytes
from typing import TYPE_CHECKING, Literal

from flowveil._errors import InputError
from flowveil._methods import find_method
from flowveil._options import (
    DEFAULT_LOSS,
    check_flag,
    check_path,
    choose_k,
    parse_choice,
    parse_hide_choice,
    parse_k_weight,
    parse_max_gbar,
    parse_max_suppression,
    parse_min_tiles,
    parse_secret,
)
from flowveil._problem import LOSSES, LOSSES_OF_NODES, Chance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from flowveil._methods import Method, Value

DEFAULT_METHOD = "mosaic"
DEFAULT_SUPPRESSION = 0.10
SECRET_BYTES = 16
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
    chance: Chance | None = None  # the secret draw that decides which areas may be divided
    several: bool = False  # may areas be split in several ways, where their hierarchy has them?


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
    elsewhere: bool = False,
    totals: bool = False,
    remainders: bool = False,
    hide_choice: float | None = None,
    secret: str | None = None,
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
    if check_flag(remainders, "remainders"):
        _check_remainders(chosen, loss, parse_min_tiles(min_tiles), alone=not any(flags) and areas_from is None)
    chance = _chance(hide_choice, secret)
    if chance is not None:
        alone = not (any(flags) or remainders) and areas_from is None
        _check_hidden_choice(chosen, loss, parse_min_tiles(min_tiles), alone=alone)
    typed = chosen.parse_options(options)
    share = _share(chosen, max_suppression, max_gbar)
    if areas_from is not None:
        if chosen.name != DEFAULT_METHOD or typed or max_gbar is not None:
            raise InputError(
                "the areas of an earlier release leave nothing to choose", "leave out method, options and max_gbar"
            )
        share = parse_max_suppression(max_suppression)
    return Demand(
        chosen,
        choose_k(k, preset, unit),
        parse_k_weight(k_weight),
        parse_min_tiles(min_tiles),
        loss,
        typed,
        share,
        parse_max_gbar(max_gbar),
        remainders=remainders,
        chance=chance,
        # What these add is safe where areas hold each other or have nothing in common: in one tree.
        several=chosen.several and not any(flags) and areas_from is None,
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


def _chance(hide_choice: float | None, secret: str | None) -> Chance | None:
    """Return the draw that was asked for, by a new secret if none is given."""
    share, given = parse_hide_choice(hide_choice), parse_secret(secret)
    if share is None:
        if given is not None:
            raise InputError("a secret was given, but nothing is drawn", "add hide_choice, or leave out the secret")
        return None
    return Chance(share, token_bytes(SECRET_BYTES) if given is None else given)


def _check_hidden_choice(method: Method, loss: str, min_tiles: int, *, alone: bool) -> None:
    """Raise if what else is asked tells of small parts whatever is drawn; alone: nothing but flows is published."""
    if method.name != DEFAULT_METHOD:
        raise InputError(f"{method.name} does not hide its choice", f"leave out --hide-choice, or use {DEFAULT_METHOD}")
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
            "remainders, elsewhere, totals, a release beside and the areas of an earlier one do not go with a hidden "
            "choice: they tell more than flows",
            "leave out --hide-choice, or the others",
        )


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
