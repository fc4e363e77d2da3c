"""How much memory processes use."""

from __future__ import annotations

import subprocess
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


def memory_in_use(process: int) -> int | None:
    """Return the memory a process has now, in bytes; None where that cannot be told."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return _memory_by_ps(process)
    return pages * _page_size()


def _page_size() -> int:
    import resource  # noqa: PLC0415  not on Windows

    return resource.getpagesize()


def _memory_by_ps(process: int) -> int | None:
    try:
        answer = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, check=True)  # noqa: S603, S607
        return int(answer.stdout) * _KIBIBYTE
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
