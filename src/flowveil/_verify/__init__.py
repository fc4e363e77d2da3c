"""The independent checker: it shares no counting code with what makes releases."""

from flowveil._verify.verification import Verification, verify_flows

__all__ = ["Verification", "verify_flows"]
