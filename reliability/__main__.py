"""Run one trial: python -m reliability NAME, with the options of that trial."""

from __future__ import annotations

import importlib
import sys

importlib.import_module(f"reliability.{sys.argv.pop(1)}").main()
