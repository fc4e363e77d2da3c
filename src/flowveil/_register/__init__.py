"""The private register of the releases made from a source: what was published before, and what it may cost."""

from flowveil._register.account import check_account
from flowveil._register.entering import enter, look
from flowveil._register.entries import (
    FLOWS,
    NOISE,
    PATHS,
    WRITING,
    Entry,
    Layer,
    NewEntry,
    StoredTrips,
    mark_of,
    name_all,
)
from flowveil._register.listing import Register, register
from flowveil._register.periods import are_apart, parse_period
from flowveil._register.sharing import HOW_TO_FORGET, check_paths, check_persons, share
from flowveil._register.store import OpenRegister

__all__ = [
    "FLOWS",
    "HOW_TO_FORGET",
    "NOISE",
    "PATHS",
    "WRITING",
    "Entry",
    "Layer",
    "NewEntry",
    "OpenRegister",
    "Register",
    "StoredTrips",
    "are_apart",
    "check_account",
    "check_paths",
    "check_persons",
    "enter",
    "look",
    "mark_of",
    "name_all",
    "parse_period",
    "register",
    "share",
]
