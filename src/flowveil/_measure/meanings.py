"""What each metric means, in a line."""

from __future__ import annotations

MEANINGS = {
    "gbar": "tiles of both ends, averaged over trips (2 is none lost)",
    "e": "reconstruction loss, 0 to 2",
    "d": "distance of distributions, 0 to 2",
    "suppressed": "share left out",
    "c_dm": "discernibility",
    "c_avg": "mean crowd over k",
    "gdm": "meters from tile center to area center",
    "mao": "mean size of origin areas, km2",
    "mad": "mean size of destination areas, km2",
    "flows": "published flows",
    "origin_areas": "areas used as origins",
    "destination_areas": "areas used as destinations",
    "trips": "published trips",
    "min_trips": "fewest trips of a flow",
    "min_persons": "fewest persons of a flow",
    "min_weight": "fewest people represented by a flow",
    "t_closeness": "how far the destinations of an origin area are from those of all, 0 to 1",
    "k": "persons (trips without a unit) that flows are held against",
    "k_weight": "people represented that flows are held against",
    "below_k": "flows with fewer persons",
    "below_k_weight": "flows that stand for fewer people",
    "tiles": "how tiles are counted",
    "population": "the same on the people that trips stand for; needs weights",
    "totals": "flows of all groups together",
    "tbar": "steps of time of a flow, averaged over trips (1 is none lost)",
    "matrices": "steps of time and groups: how many, how many withheld, means over them",
    "elsewhere": "with flows to elsewhere",
}
