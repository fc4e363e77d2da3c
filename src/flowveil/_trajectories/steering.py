"""At which price samples are chosen: a given one, or the one that meets a budget of samples or a precision."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from flowveil._errors import InputError, PromiseError
from flowveil._options import parse_max_suppression, parse_meters, parse_minutes, parse_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._trajectories.choice import Chooser, Outcome

DEFAULT_SUPPRESSION = 0.10
_LEAST_PRICE, _LARGEST_PRICE = 1e-6, 1e6
_START = 0.25  # the price that a search starts with
_STEEP = 4.0  # beyond this price, steps are long
_NEAR = 1.1  # prices so near to each other have nothing of interest between them
_HALVINGS = 3  # of the interval in which groups are formed again; within the last one they stay
_FURTHER = (1.0, 1.05)  # prices that are tried with exchanges, which seldom keep less: else groups stay as they grew
_WHOLE = 1e-9  # shares of rows are compared as whole rows


class Steering(NamedTuple):
    """What is asked of the price."""

    price: float | None
    max_suppression: float | None
    extent: float | None  # meters
    duration: float | None  # minutes

    def typed(self) -> bool:
        """Whether anything is asked."""
        return any(value is not None for value in self)

    def or_default(self) -> Steering:
        """Return this, or the usual budget where nothing is asked."""
        return self if self.typed() else self._replace(max_suppression=DEFAULT_SUPPRESSION)


def parse_steering(
    price: object = None,
    max_suppression: object = None,
    max_mean_extent: object = None,
    max_mean_duration: object = None,
) -> Steering:
    """Return what is asked of the price, or raise where two things are."""
    steering = Steering(
        None if price is None else parse_price(price),
        parse_max_suppression(max_suppression),
        None if max_mean_extent is None else parse_meters(max_mean_extent),
        None if max_mean_duration is None else parse_minutes(max_mean_duration),
    )
    precise = steering.extent is not None or steering.duration is not None
    if (steering.price is not None) + (steering.max_suppression is not None) + precise > 1:
        raise InputError(
            "several things are asked of the price of a sample",
            "choose one: price, max_suppression (a budget), or max_mean_extent and max_mean_duration (a precision)",
        )
    return steering


def parse_price(value: object) -> float:
    """Return the price of a sample."""
    hint = "it is a number above 0; 1 buys boxes of up to 20 km and 8 h, 0.25 is a good start"
    return parse_number(value, "price", hint, _LEAST_PRICE, _LARGEST_PRICE)


def steer(asked: Steering, chooser: Chooser, form: Callable[..., Outcome], users: int) -> Outcome:
    """Return what is published at the price that was asked for; raise PromiseError where there is none.

    form: returns what groups that are formed at a price publish at it, improved or not; users: how many a group has.
    """
    if asked.price is not None:
        outcome = form(min(round(asked.price * chooser.unit), chooser.most(users)))
        if not outcome.grouping.groups:
            raise PromiseError("no group of k users publishes a sample at this price", "raise the price or lower k")
        return outcome
    return _Search(asked, chooser, users).run(form)


class _Search:
    """A search for the cheapest price within a budget, or for the highest that is precise enough."""

    def __init__(self, asked: Steering, chooser: Chooser, users: int) -> None:
        self.asked, self.chooser = asked, chooser
        self.budget = asked.max_suppression is not None
        self.bottom, self.top = chooser.least, chooser.most(users)

    def meets(self, outcome: Outcome) -> bool:
        """Whether an outcome is what was asked for; one without samples is not."""
        asked, rows = self.asked, self.chooser.rows
        if not outcome.grouping.groups:
            return False
        if asked.max_suppression is not None:
            return rows - outcome.kept <= int(asked.max_suppression * rows + _WHOLE)
        return not (
            (asked.extent is not None and outcome.extent > asked.extent)
            or (asked.duration is not None and outcome.duration > asked.duration)
        )

    def run(self, form: Callable[..., Outcome]) -> Outcome:
        """Search with new groups at every price, first without exchanges, then with the groups of the best."""
        good, bad = self._bracket(partial(form, improved=False))
        if good is None:
            good, bad = self._bracket(form)
        if good is None:
            raise self._refusal()
        for _ in range(_HALVINGS if bad is not None else 0):
            middle = round((good.price * cast("int", bad)) ** 0.5)
            outcome = form(middle, improved=False)
            good, bad = (outcome, bad) if self.meets(outcome) else (good, middle)
        for further in _FURTHER:
            away = further if self.budget else 1 / further
            outcome = form(min(max(round(good.price * away), self.bottom), self.top))
            if self.meets(outcome):
                return self._refine(outcome)
        return self._refine(good)

    def _refine(self, best: Outcome) -> Outcome:
        """Return the cheapest outcome within the budget, or the dearest that is precise enough, of the same groups."""
        members, bad = best.members, self.bottom if self.budget else self.top
        distance = max(1, best.price // 64)
        while best.price != bad and abs(best.price - bad) > 1:
            near = best.price - distance if self.budget else best.price + distance
            middle = min(max(near, min(best.price, bad) + 1), max(best.price, bad) - 1)
            outcome = self.chooser.choose(members, middle)
            if self.meets(outcome):
                best, distance = outcome, distance * 2
            else:
                bad, distance = middle, max(1, abs(best.price - middle) // 2)
        return best

    def _bracket(self, form: Callable[..., Outcome]) -> tuple[Outcome | None, int | None]:
        """Return an outcome that meets what is asked and a price beside it that does not, None where there is none.

        A price may be too low for any sample. What is precise enough lies above it, below what is too coarse.
        """
        good: Outcome | None = None
        bad: int | None = None
        empty: int | None = None
        price = min(max(round(_START * self.chooser.unit), self.bottom + 1), self.top)
        while True:
            outcome = form(price)
            if self.meets(outcome):
                good = outcome
            elif self.budget or outcome.grouping.groups:
                bad = price
            else:
                empty = price
            if good is not None and bad is not None:
                return good, bad
            if bad is not None and empty is not None:
                if bad <= empty * _NEAR:
                    return None, bad
                price = round((bad * empty) ** 0.5)
                continue
            upward = good is None if self.budget else bad is None
            if price == (self.top if upward else self.bottom) or (upward and outcome.kept == self.chooser.rows):
                return good, bad
            factor = 2 if price < _STEEP * self.chooser.unit else 8
            price = min(price * factor, self.top) if upward else max(price // 2, self.bottom)

    def _refusal(self) -> PromiseError:
        if self.budget:
            return PromiseError(
                f"no price keeps all but {self.asked.max_suppression:.4%} of the samples",
                "raise max_suppression or the thresholds, or lower k; trajectories frontier shows what is possible",
            )
        return PromiseError(
            "no price gives samples as small and short as that",
            "raise max_mean_extent or max_mean_duration, or lower k; trajectories frontier shows what is possible",
        )
