"""Run every benchmark: make bench, or python -m benchmarks NAME for one."""

from __future__ import annotations

import importlib
import sys

NAMES = [
    "read",
    "odkanon",
    "solve",
    "families",
    "hours",
    "steps",
    "same_areas",
    "workflows",
    "each",
    "targets",
    "people",
    "study",
    "growth",
    "published",
    "claims",
    "choosing",
    "questions",
    "reading",
    "finest",
    "keep_safe",
    "glove",
    "matrices",
    "noise",
    "audit",
    "likely",
    "noise_zones",
    "trajectories",
    "table2",
    "thresholds",
    "gather",
    "synthesis",
    "recount",
    "known_points",
    "linked_days",
    "memory",
    "map",
    "frames",
    "rows",
    "engines",
    "scale",
]

for name in [name for name in sys.argv[1:] if name in NAMES] or NAMES:
    importlib.import_module(f"benchmarks.{name}").main()
