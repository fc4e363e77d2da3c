"""What is asked of a release, checked as far as that is possible without trips."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
    parse_hide_choice,
    parse_k_weight,
    parse_max_gbar,
    parse_max_share,
    parse_max_suppression,
    parse_min_tiles,
    parse_rounding,
    parse_sensitive_tiles,
    read_secret,
)
from flowveil._places import Sensitive, read_sensitive
from flowveil._problem import LOSSES, Chance
from flowveil._release.chance import draw_words
from flowveil._release.going_together import (
    check_hidden_choice,
    check_keep_safe,
    check_margins,
    check_remainders,
    check_same_areas,
    check_share,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._methods import Method, Value
    from flowveil._places import ZonesLike

DEFAULT_METHOD = "mosaic"
DEFAULT_SUPPRESSION = 0.10
_ANONYMITY = "k-anonymity"


@dataclass(frozen=True)
class Demand:
    """What is asked of a method: all of it was checked, but for what depends on flows."""

    method: Method
    k: int
    k_weight: float | str | None
    min_tiles: int
    loss: str
    options: dict[str, Value]  # of the method
    share: float | None = None  # the largest share of trips that may be left out; None: any
    max_gbar: float | None = None
    remainders: bool = False  # may a flow count what finer flows inside it leave?
    chance: Chance | None = None  # the secret draw that decides which areas may be divided
    several: bool = False  # may areas be split in several ways, where their hierarchy has them?
    protect_margins: bool = False  # may others know departures and arrivals?
    rounding: int | None = None  # the base that numbers are rounded to
    cell_key: int | None = None  # by how much they may be changed
    secret: bytes | None = None  # what chance is drawn from
    max_share: float | None = None  # the largest share of a flow that one person may make
    sensitive: Sensitive | None = None  # places that areas of few tiles may not touch
    sensitive_path: str | None = None  # their file
    same_areas: bool = False  # shall all steps of time and groups have their areas in common?


def parse_demand(
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    *,
    preset: str | None = None,
    unit: str | None = None,
    counted_persons: bool = False,
    by: Sequence[str] | None = None,
    max_suppression: float | None = None,
    max_gbar: float | None = None,
    loss: str = DEFAULT_LOSS,
    k_weight: float | str | None = None,
    min_tiles: int = 1,
    max_share: float | None = None,
    sensitive: ZonesLike | None = None,
    sensitive_tiles: int | None = None,
    elsewhere: bool = False,
    totals: bool = False,
    remainders: bool = False,
    protect_margins: bool = False,
    hide_choice: float | None = None,
    rounding: int | None = None,
    cell_key: int | None = None,
    secret: str | Path | None = None,
    beside: str | Path | None = None,
    areas_from: str | Path | None = None,
    same_areas: bool = False,
    options: Mapping[str, Value] | Sequence[str] | None = None,
) -> Demand:
    """Return what is asked of a release (see `anonymize`), or raise if it does not go together.

    unit: the column of persons, if there is one. counted_persons: there is none, but trips are persons, counted once.
    by: the columns of groups, None if they are not known yet.
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
    if totals and by is not None and not by:
        raise InputError("totals need groups", "name their columns with --by")
    if sum(flags) > 1:  # each is checked against the flows of groups only
        raise InputError("elsewhere, totals and a release beside do not go together", "choose one of them")
    for name, folder in (("beside", beside), ("areas_from", areas_from)):
        if folder is not None:
            check_path(folder, name)
    alone, tiles = not any(flags) and areas_from is None, parse_min_tiles(min_tiles)
    check_margins(protect_margins, others=any(flags) or remainders)
    check_remainders(remainders, chosen, loss, tiles, alone=alone)
    check_share(max_share, chosen, unit, together=totals or beside is not None)
    hidden = parse_hide_choice(hide_choice)
    masked = max_share is not None or sensitive is not None
    only_flows = alone and not remainders and not protect_margins
    check_hidden_choice(hidden, chosen, loss, tiles, alone=only_flows, masked=masked, of_mean=isinstance(k_weight, str))
    typed = chosen.parse_options(options)
    beyond = {"--totals": totals, "--remainders": remainders, "--hide-choice": hidden, "--max-share": max_share}
    check_keep_safe(typed, tiles, hidden, same_areas=same_areas)
    check_same_areas(same_areas, chosen, typed, beyond | {"--areas-from": areas_from})
    share = _share(chosen, max_suppression, max_gbar)
    if areas_from is not None:
        if chosen.name != DEFAULT_METHOD or typed or max_gbar is not None:
            raise InputError(
                "the areas of an earlier release leave nothing to choose", "leave out method, options and max_gbar"
            )
        share = parse_max_suppression(max_suppression)
    crowd = choose_k(k, preset, persons=unit is not None or counted_persons)
    base = _rounding(rounding, crowd, alone=beside is None)
    change = _cell_key(cell_key, crowd, alone=beside is None and base is None)
    key = _secret(secret, changes=any(value is not None for value in (base, change, hidden)))
    return Demand(
        chosen,
        crowd,
        parse_k_weight(k_weight),
        tiles,
        loss,
        typed,
        share,
        parse_max_gbar(max_gbar),
        remainders=remainders,
        chance=_hidden(hidden, key),
        # What these add is safe where areas hold each other or have nothing in common: in one tree.
        several=chosen.several and not any(flags) and not protect_margins and areas_from is None,
        protect_margins=protect_margins,
        rounding=base,
        cell_key=change,
        secret=key,
        max_share=parse_max_share(max_share),
        sensitive=_parse_sensitive(chosen, sensitive, sensitive_tiles, remainders=remainders),
        sensitive_path=str(Path(sensitive).resolve()) if isinstance(sensitive, str | Path) else None,
        same_areas=same_areas,
    )


def _parse_sensitive(
    method: Method, places: ZonesLike | None, tiles: int | None, *, remainders: bool
) -> Sensitive | None:
    """Return sensitive places and the tiles around them, or raise if they cannot be kept out of small areas."""
    if places is None:
        if tiles is not None:
            raise InputError("sensitive_tiles was given, but no sensitive places", "give them with --sensitive FILE")
        return None
    if not method.sensitive:
        raise InputError(
            f"{method.name} cannot keep out flows whose areas are too small beside a sensitive place",
            "leave out --sensitive, or use mosaic",
        )
    if remainders:
        raise InputError(
            "of the areas of a remainder single tiles may remain, which may be a sensitive place",
            "leave out --remainders or --sensitive",
        )
    return Sensitive(read_sensitive(places), parse_sensitive_tiles(tiles))


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
                "a secret was given, but nothing is left to chance", "add --rounding, --cell-key or --hide-choice"
            )
        return None
    return draw_secret() if path is None else read_secret(path)


def _hidden(share: float | None, secret: bytes | None) -> Chance | None:
    """Return the draw that hides the choice of areas, if one was asked for."""
    if share is None or secret is None:
        return None
    return Chance(share, draw_words(secret, "areas", 2).tobytes())


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
