"""Run every benchmark: make bench, or python -m benchmarks NAME for one."""

from __future__ import annotations

import importlib
import sys

NAMES = ["read", "odkanon", "solve", "hours", "growth", "published", "matrices", "trajectories"]

for name in sys.argv[1:] or NAMES:
    importlib.import_module(f"benchmarks.{name}").main()
