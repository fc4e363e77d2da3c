"""Known attacks on a release, each with a figure and a verdict."""

from flowveil._risk.attacking import Risk, risk
from flowveil._risk.attacks import ATTACKS, QUICK, Attack
from flowveil._risk.finding import BREAKS, HOLDS, TELLS, VERDICTS, Finding

__all__ = ["ATTACKS", "BREAKS", "HOLDS", "QUICK", "TELLS", "VERDICTS", "Attack", "Finding", "Risk", "risk"]
