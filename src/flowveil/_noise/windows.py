"""A ledger for streams: what is spent in any window of steps in a row is at most epsilon, however long the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError
from flowveil._noise.ledger import PARTS, Ledger, Spend

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


class WindowLedger:
    """Hands out epsilon step by step, and raises before any window of `window` steps would spend more than all of it.

    Steps are sets of trips that are disjoint, but a person may have trips in all of them: charges of different steps
    of a window add up. Those of steps further apart are about inputs that are not neighbors, and do not.
    """

    def __init__(self, epsilon: float, window: int, steps: int) -> None:
        self.window = window
        self.spends: list[Spend] = []
        self._whole = Ledger(epsilon)
        self._spent = np.zeros(steps, np.int64)

    @property
    def epsilon(self) -> float:
        """What a window may spend."""
        return self._whole.epsilon

    def part(self, name: str, step: int, parts: int, roots: int = 1) -> Ledger:
        """Charge `parts` to a step, and return a ledger over its trips that has these to spend.

        roots: matrices of the step, of which a trip is in one.
        """
        if parts <= 0:
            raise PromiseError(f"{name}: nothing is left to spend", "please report this bug")
        charged = self._spent.copy()
        charged[step] += parts
        if self._largest(charged) > PARTS:
            raise PromiseError(f"{name}: a window would spend more than its epsilon", "please report this bug")
        self._spent = charged
        ledger = Ledger(self._whole.epsilon_of(parts), roots)
        self.spends.append(Spend(name, parts, 1, ledger.epsilon))
        return ledger

    def largest_window(self) -> float:
        """Return the epsilon of the window that spent most: what the whole run costs."""
        return self._whole.epsilon_of(self._largest(self._spent))

    def _largest(self, spent: IntArray) -> int:
        sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(spent)])
        width = min(self.window, len(spent))
        return int((sums[width:] - sums[:-width]).max())
