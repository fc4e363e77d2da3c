"""How much memory a process has used."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_MEGABYTE = 1_000_000
_KIBIBYTE = 1024


def peak_memory() -> float | None:
    """Return the most memory this process has had, in MB; None where the system does not tell.

    Linux is not asked with `getrusage`, whose peak begins with that of the process that started this one.
    """
    if _STATUS.is_file():
        lines = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="utf-8").splitlines())
        return int(lines["VmHWM"].removesuffix("kB")) * _KIBIBYTE / _MEGABYTE
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak * (1 if sys.platform == "darwin" else _KIBIBYTE) / _MEGABYTE)
