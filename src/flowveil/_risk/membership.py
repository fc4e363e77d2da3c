"""Membership: can a reader who knows somebody's trips tell whether these are in the data? Tried on shadow releases."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError, PromiseError
from flowveil._folder import NO_COLUMN, read_audit, remembered
from flowveil._release import anonymize, recount
from flowveil._risk.finding import HOLDS, TELLS, Finding
from flowveil._risk.holding import Known
from flowveil._trips import reopen_trips

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._arrays import FloatArray
    from flowveil._options import Keywords
    from flowveil._risk.case import Case
    from flowveil._trips import Trips

_TARGETS = 5  # persons, the most unique first
_SHADOWS = 8  # releases with each of them, and as many without
_SHARE = 0.8  # of the other persons who are in a shadow release, drawn anew for each
_MOST_ROWS = 20_000  # trips that shadow releases are made from; of more, those of some persons
_MOST_READ = 500_000  # trips that these persons are drawn from: the first ones
_SECONDS = 60.0  # after which no new round is begun: a round is one release with and one without each target
_BOUND = 0.6  # area under the curve from which on it tells something; 0.5 is chance
_SEED = 0
_PROMISED = (  # keys of promises that are asked of shadow releases, too
    *("k_weight", "min_tiles", "max_share", "sensitive_tiles", "max_suppression", "elsewhere", "totals", "remainders"),
    *("rounding", "cell_key", "protect_margins", "hidden_choice", "same_areas"),
)
_CALLED = {"hidden_choice": "hide_choice"}  # by `anonymize`, where that is another name
_STEERED = ("loss", "max_gbar")  # are among the options of a method in manifests only


def find_membership(case: Case) -> Finding | None:
    """Make releases with and without some persons, and guess from how busy their own trips look."""
    manifest = case.files.manifest
    promise = manifest["promise"]
    cannot = "areas_from" in manifest["options"] or ("sensitive_tiles" in promise and case.sensitive is None)
    if promise["unit"] in NO_COLUMN or cannot:
        return None
    shadows = Shadows(case)
    targets = shadows.most_unique()[:_TARGETS]
    scores = np.zeros((len(targets), 2, 0))
    until = monotonic() + _SECONDS
    while scores.shape[2] < _SHADOWS and (not scores.shape[2] or monotonic() < until):
        round_ = [[shadows.score(target, present=present) for present in (True, False)] for target in targets]
        scores = np.concatenate([scores, np.array(round_)[:, :, None]], axis=2)
    curve, spread = area_under_curve(scores)
    tells = curve > max(_BOUND, 0.5 + 2 * spread)
    return Finding(
        "membership",
        curve,
        "area under the curve of the guess whether a person is in the data (0.5 is chance, 1 always right)",
        TELLS if tells else HOLDS,
        f"Whoever has a release and knows all trips of one of the {len(targets)} most unique persons guesses whether "
        f"these are in the data with an area under the curve of {curve:.2f}; chance is 0.50, give or take "
        f"{2 * spread:.2f}.",
        "A k-anonymous release does not hide that somebody is in the data: its volumes are exact, whatever k is. "
        "Differential privacy (--epsilon) bounds this."
        if tells
        else "",
        {
            "persons": len(targets),
            "shadows": scores.shape[2],
            "share_of_others": _SHARE,
            "rows": shadows.table.num_rows,
            "seconds": _SECONDS,
            "bound": _BOUND,
            "seed": _SEED,
        },
        {"advantage": advantage(scores), "spread": spread, "by_person": [_curve(one) for one in scores]},
        private=True,
    )


def area_under_curve(scores: FloatArray) -> tuple[float, float]:
    """Return the mean over persons of how often a score with them is above one without, and how far chance strays.

    scores: by person, with (0) or without (1) them, and shadow release.
    """
    shadows = scores.shape[2]
    spread = float(np.sqrt((2 * shadows + 1) / (12 * shadows**2) / len(scores)))  # of Mann and Whitney's statistic
    return float(np.mean([_curve(one) for one in scores])), spread


def advantage(scores: FloatArray) -> float:
    """Return the most by which right alarms exceed false ones, as shares, for one threshold on the ranks of scores."""
    flat = scores.reshape(len(scores), -1)
    ranks = np.array([[(one < value).mean() + (one == value).mean() / 2 for value in one] for one in flat])
    present, absent = ranks[:, : scores.shape[2]].ravel(), ranks[:, scores.shape[2] :].ravel()
    return float(max((present >= edge).mean() - (absent >= edge).mean() for edge in np.unique(ranks)))


def _curve(scores: FloatArray) -> float:
    present, absent = scores
    return float((present[:, None] > absent).mean() + (present[:, None] == absent).mean() / 2)


class Shadows:
    """Releases of other data, made like the one under attack: of most of its persons, with or without one of them."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._random = np.random.default_rng(_SEED)
        self._trips = _open(case)
        self._unit = case.files.manifest["promise"]["unit"]
        table = self._trips.head(_MOST_READ)
        table = table.set_column(table.column_names.index(self._unit), self._unit, table[self._unit].cast(pa.string()))
        self.table = self._some_persons(table)
        self._ids = np.array(self.table[self._unit].to_pylist(), object)
        self._persons = sorted({person for person in self._ids if person is not None})
        self._asked = _asked(case)

    def most_unique(self) -> list[str]:
        """Return persons by how few others make trips between about the same places, the fewest first."""
        between = Known.of(self.table, self._trips.columns).rough()
        visits = {
            (pair, person) for pair, person in zip(between, self._ids.tolist(), strict=True) if person is not None
        }
        crowd: dict[str, int] = {}
        for pair, _ in visits:
            crowd[pair] = crowd.get(pair, 0) + 1
        alone: dict[str, list[float]] = {}
        for pair, person in visits:
            alone.setdefault(person, []).append(1 / crowd[pair])
        return sorted(alone, key=lambda person: (-round(float(np.mean(alone[person])), 9), person))

    def score(self, target: str, *, present: bool) -> float:
        """Return how busy a new shadow release shows the trips of a person who is in its data, or is not."""
        others = [person for person in self._persons if person != target]
        drawn = self._random.choice(others, max(round(_SHARE * len(others)), 1), replace=False).tolist()
        # In the place of one of the others, so that it is not the number of persons that tells.
        case, rows = self._case, self._rows([*drawn[1:], target] if present else drawn)
        try:
            columns, where = self._trips.mapping or None, self._trips.where and str(self._trips.where)
            flows = recount(case.folder, case.release, rows, zones=case.zones, columns=columns, where=where)
            release = anonymize(flows, **self._asked)
        except PromiseError:  # nothing would have been published
            return 0.0
        known = Known.of(self._rows([target]), self._trips.columns)
        return float(np.log1p(known.density(release.flows, release.areas)).mean())

    def _rows(self, persons: Iterable[str]) -> pa.Table:
        return self.table.filter(pc.is_in(self.table[self._unit], pa.array(persons, pa.string())))

    def _some_persons(self, table: pa.Table) -> pa.Table:
        """Return the trips of as many persons, drawn at random, as there is room for."""
        counted = sorted(Counter(table[self._unit].drop_null().to_pylist()).items())
        order = [counted[place] for place in self._random.permutation(len(counted)).tolist()]
        room = int((np.cumsum([rows for _, rows in order]) <= _MOST_ROWS).sum())
        chosen = [person for person, _ in order[: max(room, 2)]]
        return table.filter(pc.is_in(table[self._unit], pa.array(chosen, pa.string())))


def _open(case: Case) -> Trips:
    if case.trips is None:
        raise InputError("this attack needs the trips of the release", "give them with --against INPUT")
    return reopen_trips(case.trips, remembered(read_audit(case.folder)), case.columns, case.where)


def _asked(case: Case) -> Keywords:
    """Return what was asked of the release, as `anonymize` takes it."""
    manifest = case.files.manifest
    promise, typed = manifest["promise"], dict(manifest["options"].get("method_options", {}))
    said = dict[str, object](promise)
    asked: Keywords = {_CALLED.get(name, name): said[name] for name in _PROMISED if name in said}
    asked |= {name: typed.pop(name) for name in _STEERED if name in typed}
    asked |= {"sensitive": case.sensitive} if "sensitive_tiles" in promise else {}
    return {"method": manifest["method"], "k": promise["k"], "options": typed, **asked}
