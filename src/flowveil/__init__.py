"""Publish mobility data safely: flows in which every traveler hides in a crowd."""

from flowveil._errors import FlowveilError, InputError, PromiseError, UnknownNameError, VerificationError
from flowveil.flows import Flows, build_flows
from flowveil.methods import Method, methods
from flowveil.release import Release, anonymize, evaluate, frontier, read_release
from flowveil.trips import Trips, read_trips
from flowveil.verify import Verification, verify

__all__ = [
    "Flows",
    "FlowveilError",
    "InputError",
    "Method",
    "PromiseError",
    "Release",
    "Trips",
    "UnknownNameError",
    "Verification",
    "VerificationError",
    "anonymize",
    "build_flows",
    "evaluate",
    "frontier",
    "methods",
    "read_release",
    "read_trips",
    "verify",
]
