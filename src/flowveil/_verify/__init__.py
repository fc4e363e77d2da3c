"""The independent checker: it shares no counting code with what makes releases."""

from flowveil._verify.verification import Verification, verify

__all__ = ["Verification", "verify"]
