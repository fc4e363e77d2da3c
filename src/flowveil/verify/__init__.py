"""The independent checker: it shares no counting code with what makes releases."""

from flowveil.verify._verify import Verification, verify

__all__ = ["Verification", "verify"]
