"""How to read a page, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._folder import NOISE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json

_DENSITY = (
    "The map shows {amount} per square kilometer, as any reader of the release can compute them: every number is "
    "spread evenly over its area, and where areas overlap, what lies over a place is added up. Inside an area the "
    "truth is less even."
)
_SCALE = "A color means the same {each}; all of them together have a scale of their own, since they have more."
_SAMPLES = (
    "A sample is a box and a span of time. It counts in every step of the time bar that it spans, by the share of it "
    "that lies there."
)
_NOISE = (
    "Every count has noise. \N{PLUS-MINUS SIGN} stands for what noise adds or takes at most, in 95 of 100 cases; a "
    "place is hatched where noise alone could make as much. Counts can be negative."
)
_DRAWN = (
    "All users and their moves are made up: they were drawn from counts with noise. The map counts these moves "
    "exactly; how far they are from the moves of real people, the release does not tell."
)
_LIKELY = "A place answers with a range: from what lies in areas inside it to what lies in all areas that touch it."
_BETWEEN = (
    "A place answers “about 1,300 published {amount} leave here (between 1,100 and 14,000)”: at least those of areas "
    "inside it, at most those of all areas that touch it, or may touch it since they have no outline; about, by how "
    "much of each area lies in it. Trips that were left out are in none of these numbers."
)


_REMAINDERS = (
    "Some flows count all other {amount} between two areas, after finer flows inside. They are spread over what the "
    "finer ones leave of the two areas."
)


def reading(numbers: Mapping[str, Json], words: Mapping[str, str], scene: Mapping[str, Json]) -> list[str]:
    """Return what a reader must know to read the map."""
    times = "samples" in scene or any(key["time"] for key in scene["keys"])
    groups = any(not key["time"] for key in scene["keys"])
    each = " and ".join(["at every single time"] * times + ["in every single group"] * groups)
    if words["counted"] == "users":
        more = [_SAMPLES]
    elif words["counted"] == "moves":
        more = [_DRAWN, _LIKELY]
    elif numbers["promise"]["kind"] == NOISE:
        more = [_NOISE, _LIKELY]
    else:
        more = [_BETWEEN, *([_REMAINDERS] if "remainders" in numbers["promise"] else [])]
    told = (_DENSITY, *([_SCALE] if each else []), *more)
    return [sentence.format(amount=words["amount"], each=each) for sentence in told]


def choosing(words: Mapping[str, str], scene: Mapping[str, Json]) -> str:
    """Return what a click on the map shows."""
    if "samples" in scene:
        return (
            f"Click a place to see how many {words['amount']} are there; choose a group beside the map to see its path."
        )
    if len(scene["sides"]) == 1:
        return f"Click a place to see how many {words['amount']} are there."
    return f"Click a place to see where its {words['amount']} go."
