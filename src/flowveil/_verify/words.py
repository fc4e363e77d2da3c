"""What manifests say in words, written again from the promise as data: a text that says anything else is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flowveil._folder import Json

ABSENCE = "Between two places that no listed flow covers there were no trips, or they were left out."
ABSENCE_WITH_REMAINDERS = (
    f"{ABSENCE} Inside a remainder a finer flow that is not listed need not be empty: its trips, if any, are in the "
    "remainder."
)
TRAJECTORIES_ABSENCE = "Users and samples that are not listed were not seen, or were suppressed."


def promise_in_words(promise: Mapping[str, Json], label: str | None = None) -> str:
    """Return the promise of a release of flows in plain words; label: what the publisher calls the unit."""
    return " ".join(_sentences(promise, label))


def _sentences(promise: Mapping[str, Json], label: str | None) -> Iterator[str]:
    """Yield what is promised, in the order of the format."""
    yield from _crowd(promise, label)
    if "k_weight" in promise:
        yield f"Every flow stands for at least {_people(promise)}."
    if "k_weight" in promise and promise["k"] == 1:
        yield "Single participants are not protected."
    if "min_tiles" in promise:
        yield f"Both ends of every flow are areas of at least {promise['min_tiles']} tiles"
        yield "(on a grid: tiles that occur in the data at that end)."
    if "max_share" in promise:
        one = f"value of {promise['unit']}" if label is None else f"one of the {label} ({promise['unit']})"
        yield f"No single {one} makes more than {100 * promise['max_share']:g} % of the trips of a flow."
    if "sensitive_tiles" in promise:
        yield "An area that touches a sensitive place, of a list that is not published,"
        yield f"has at least {promise['sensitive_tiles']} tiles."
    yield from _volumes(promise)
    yield "No trip is counted in two flows."
    if "max_suppression" in promise:
        of_groups = " of the groups" if "totals" in promise else ""
        yield f"At most {100 * promise['max_suppression']:g} % of the usable trips were left out{of_groups}."
    yield from _more(promise)


def _more(promise: Mapping[str, Json]) -> Iterator[str]:
    """Yield what not every release promises."""
    if "shapes" in promise:
        yield "Areas are rectangles of longitude and latitude; a trip lies where the centers of its tiles lie."
    if "totals" in promise:
        yield "The group total counts all groups together, where groups and totals give no smaller crowd away;"
        yield "what else is said of flows holds for totals and for the other groups by themselves."
    if "hidden_choice" in promise:
        chance = f"{100 * promise['hidden_choice']:g} %"
        yield f"With chances of up to {chance} a secret draw kept areas whole that could have been divided,"
        yield "so that no area tells for certain of a smaller crowd in it."
    if "same_areas" in promise:
        yield "All steps of time and groups have their pairs of areas in common: a pair that one of them lacks has"
        yield "fewer there than a flow needs, or was left out."
    if "elsewhere" in promise:
        yield "A flow to or from elsewhere counts trips that were left out: all of its area that are in no other flow."
    yield from _margins(promise)


def _margins(promise: Mapping[str, Json]) -> Iterator[str]:
    """Yield what departures and arrivals tell that others know."""
    if "protect_margins" in promise:
        yield "Whoever knows how many trips of a time and group start and end in the areas of flows learns of no"
        yield "smaller crowd by taking flows away: of the trips of a time and group from an origin area (or to a"
        yield "destination area), those in no flow from (or to) it or a part of it are nobody or such a crowd."


def _crowd(promise: Mapping[str, Json], label: str | None) -> Iterator[str]:
    """Yield how large a crowd is."""
    k, unit = promise["k"], promise["unit"]
    if unit == "counted person":
        yield f"Every flow counts at least {k} persons, each of whom is counted once, as one trip."
    elif unit == "trip":
        yield f"Every flow counts at least {k} trips. Trips are not persons: one person may have made several of them."
    elif label is None:
        yield f"Every flow is shared by at least {k} different values of {unit}."
    else:
        yield f"Every flow is shared by at least {k} different {label} ({unit})."


def _volumes(promise: Mapping[str, Json]) -> Iterator[str]:
    """Yield what the volume of a flow is."""
    if promise["volumes"] in ("rounded", "perturbed"):
        how = "rounded" if promise["volumes"] == "rounded" else "changed a little"
        yield f"The volume of a flow is the number of trips between its two areas, {how}."
    else:
        most = "" if promise["volumes"] == "exact" else "at most "
        yield f"The volume of a flow is {most}the true number of trips between its two areas."
    if "remainders" in promise:
        yield "A flow marked as remainder counts all other trips between them: those in none of the finer flows inside."
        yield "These others are such a crowd by themselves."
    if promise["areas"] == "overlapping":
        yield "Areas of different flows may overlap, so that a trip may lie in several flows."
    if "cell_key" in promise:
        yield f"All numbers were changed by chance, by at most {promise['cell_key']}, up as often as down; the same"
        yield "trips are always changed alike. Sums of flows are sums of changed numbers. Whether a flow has its crowd"
        yield "was decided by true numbers."
    if "rounding" in promise:
        base = promise["rounding"]
        yield f"All numbers are multiples of {base}, rounded up or down by chance: each differs from the true one by"
        yield f"less than {base}, and so do sums of trips over all flows of a time and group, those from an area and"
        yield "those to an area of them, and over all flows. Whether a flow has its crowd was decided by true numbers."


def _people(promise: Mapping[str, Json]) -> str:
    weight, unit = promise["k_weight"], promise["unit"]
    if isinstance(weight, str):
        times = str(promise["k"]) if weight == "auto" else weight[:-1]
        one = unit if unit in ("trip", "counted person") else f"value of {unit}"
        return f"{times} times as many people of the population as one {one} does on average"
    return f"{weight:g} people of the population"


def noisy_promise_in_words(
    promise: Mapping[str, Json],
    label: str | None = None,
    *,
    positive_only: bool,
    divided: bool = False,
    persons: bool = False,
    options: Mapping[str, Json] | None = None,
) -> str:
    """Return the promise of a release with noise in plain words; positive_only: counts below one are not listed.

    divided: there are steps of time or groups. persons: persons are counted beside trips. options: of the manifest.
    """
    subject, limits = _protected_in_words(promise, label)
    below = (
        "those below one are not listed, so that sums over many pairs are too large"
        if positive_only
        else "they may be negative"
    )
    return (
        f"{subject} changes the probability of any release by a factor of at most exp({promise['epsilon']:g}). "
        f"{limits} {_clock_in_words(str(promise['protects']), options or {})}"
        f"Counts are whole numbers with discrete Laplace noise of the scale stated beside each; {below}. "
        + "Persons are those with a counted trip in the flow, with noise of the scale `persons_scale`; one person may "
        "count in several flows. "
        * persons
        + "The region was chosen without the data; the number of trips is not published but for the noisy counts. "
        + "Which steps of time and groups there are was chosen without the data, too, and all of them are published, "
        "with trips or without. "
        * divided
        + "Every further release about the same people adds its own epsilon to this one."
    )


SYNTHETIC_ABSENCE = "Every sample is synthetic. Nothing is missing: nobody's own samples are in the release."


def synthetic_promise_in_words(promise: Mapping[str, Json], label: str | None = None) -> str:
    """Return the promise of synthetic trajectories in plain words."""
    one = "user" if label is None else f"of the {label}"
    return " ".join(
        [
            "All trajectories are synthetic: they were drawn from noisy counts, and from nothing else.",
            f"The presence or absence of any one {one}, with all samples, changes the probability of any release by",
            f"a factor of at most exp({promise['epsilon']:g}).",
            f"In every part of the counts one {one} weighs at most 1, however many samples there are.",
            "The extent of the map and the days were chosen without the data.",
            "A trajectory may resemble a true one by chance.",
            "Every further release about the same people adds its own epsilon to this one.",
        ]
    )


def _protected_in_words(promise: Mapping[str, Json], label: str | None) -> tuple[str, str]:
    """Return whose presence a promise is about, and what limits it."""
    most, protects = promise["max_trips_per_person"], str(promise["protects"])
    who = "person" if label is None else f"of the {label}"
    one = f"{who} (a value of {promise['unit']})"
    if protects == "trip":
        return "The presence or absence of any one trip", (
            "One trip is protected, not a person: someone who made n trips is protected at n times that epsilon."
        )
    if protects == "person":
        return f"The presence or absence of any one {one}", (
            f"At most {most} trips of each {who} are counted, drawn at random from their trips."
        )
    kind, _, steps = protects.partition(":")
    period = kind.partition("-")[2]
    when = f"in any {steps} steps of time in a row" if steps else f"{'on' if period == 'day' else 'in'} one {period}"
    lasting = (
        f"Who travels for longer than {steps} steps is protected in each such stretch, not over all of time"
        if steps
        else f"Someone who travels in n {period}s is protected at n times that epsilon"
    )
    return f"Whether or not the trips that any one {one} made {when} are in the data", (
        f"At most {most} trips of each {who} in each {'step of time' if steps else period} are counted, drawn at "
        f"random. {lasting}: habits that last may show."
    )


def _clock_in_words(protects: str, options: Mapping[str, Json]) -> str:
    """Return how long a step of a window is, and whose clock cuts time; nothing where no time is cut."""
    zone, period = options.get("timezone"), protects.removeprefix("person-")
    by = f"begin by the clock of {zone}. "
    if period in ("day", "week", "month"):
        return f"{period.capitalize()}s {by}" if zone is not None else ""
    if not protects.startswith("window:") or "time" not in options:
        return ""
    step = str(options["time"])
    number, unit = step.rstrip("abcdefghijklmnopqrstuvwxyz"), step.lstrip("0123456789")
    long = {"min": "minute", "h": "hour", "d": "day"}.get(unit, unit)
    lasts = f"A step of time is one {long}" if number in ("", "1") else f"A step of time is {number} {long}s"
    return f"{lasts}; steps {by}" if zone is not None else f"{lasts}. "


def noisy_absence_in_words(*, positive_only: bool, stream: bool = False) -> str:
    """Return what a release with noise says of flows that are not listed; stream: steps may repeat earlier ones."""
    if positive_only:
        return (
            "Noise was added to every pair of tiles, and those below one are not listed. A listed pair may have had no "
            "trips, and one that is not listed may have had some."
        )
    return (
        "Every box is listed, empty or not: nothing is missing. A count is noisy, and a small one may stand for none."
        + " Where `drawn` is an earlier step than `time`, counts are those of that step once more: not much had "
        "changed since, as far as noise lets one tell." * stream
    )


_IN_ONE = "Nobody's samples are in two trajectories."
_IN_PERIODS = (
    "Trajectories are cut into {period}s, and all of this holds for each {period} by itself: nobody's samples of a "
    "{period} are in two trajectories, and no trajectory counts anybody twice. No id goes from one {period} to "
    "another, but places may show which trajectories of different {period}s are of the same {label}: what several of "
    "them tell together is not promised."
)


def trajectories_promise_in_words(promise: dict[str, Json], label: str = "users") -> str:
    """Return the promise of a release of trajectories in plain words; label: what the publisher calls users."""
    points, period = promise.get("known_points"), promise.get("cut_into")
    overlapping = points is None and promise.get("spans") == "overlapping"
    crowds = _complete_in_words if "support" in promise else _crowds_in_words
    return (
        (crowds(promise, label) if points is None else _points_in_words(promise, points, label))
        + (_IN_PERIODS.format(period=period, label=label) if period else _IN_ONE)
        + " Time spans of a trajectory may overlap: whoever was seen then was in one of their boxes." * overlapping
    )


def _crowds_in_words(promise: dict[str, Json], label: str) -> str:
    least = promise.get("min_support", 1)
    some = f"{least} of its {label} were seen" if least > 1 else f"one of its {label} was seen"
    return (
        f"Every trajectory is the common record of at least {promise['k']} {label}, who cannot be told apart by it. In "
        f"every box and time span of a trajectory at least {some}; not all of them need to have been, and its support "
        "says how many were. "
    )


def _points_in_words(promise: dict[str, Json], points: int, label: str) -> str:
    known = f"at most {points} points" if points > 1 else "one point"
    return (
        f"Whoever knows {known} (place and time) of one of the {label} finds that no trajectory holds them all, or "
        f"those of at least {promise['k']} {label} do. A trajectory may be that of one of the {label} alone, who was "
        "seen in all of its boxes and time spans: whoever knows more points may recognize it. "
    ) + _left_out_in_words(promise["max_suppression"], label)


def _complete_in_words(promise: dict[str, Json], label: str) -> str:
    some = f", at least {promise['min_support']}" if "min_support" in promise else ""
    left = promise.get("max_suppression")
    return (
        f"Every trajectory is the common record of at least {promise['k']} {label}, who cannot be told apart by it. In "
        f"every box and time span of a trajectory all of its {label} were seen{some}. "
    ) + ("" if left is None else _left_out_in_words(left, label))


def _left_out_in_words(share: float, label: str) -> str:
    most = f"{100 * share:.10g} %"
    return f"At most {most} of the samples in the bounding box, of {label} with enough of them, were left out. "
