"""What tests ask of workers; a module that is soon loaded."""

from __future__ import annotations

import os
import signal
import sys
import time

from flowveil._errors import UnknownNameError


class Sums:
    """Adds up what it is asked, and tells every sum."""

    def __init__(self):
        """Begin with nothing."""
        self.total = 0

    def add(self, asked, tell):
        """Add numbers one by one."""
        for number in asked:
            self.total += number
            tell(self.total)
        return self.total


def same(shared, asked, _):
    """Whether an object that is asked about is the one that all calls share, and how long it is."""
    return asked[0] is shared, len(asked[0])


ERRORS = {
    "ours": (UnknownNameError("part", "bed", ["bad"]), "there is no part 'bed'", "did you mean 'bad'?"),
    "memory": (MemoryError(), "there is not enough memory", "use a coarser grid, or a machine with more"),
    "bug": (KeyError("x"), "KeyError: 'x'", "this is a bug: please report it"),
}


def fail(asked, _):
    """Raise what is asked for, return what cannot be sent, or read what others sent."""
    if asked == "unsendable":
        return lambda: None
    if asked == "stdin":
        return sys.stdin.read()
    if asked == "print":
        sys.stdout.write("x" * 99_999)
        return asked
    raise ERRORS[asked][0]


class Nowhere:
    """Something that cannot be loaded."""

    def __reduce__(self):
        """Ask for a number that is none."""
        return int, ("none",)


def end(asked, tell):
    """End in some way."""
    if asked == "exit":
        sys.stderr.write("one\nlast words\n")
        sys.stderr.flush()
        os._exit(5)
    if asked == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
        return "alive"
    tell("asleep")
    time.sleep(3600)
    return None


def break_down(how, _flows, job, tell):
    """Stand for a method of a comparison that breaks down."""
    return how(job, tell)
