"""A folder that somebody else filled: whatever of it is run leaves a mark."""

from __future__ import annotations

MODULES = ("flowveil", "json", "numpy", "pickle", "pyarrow", "pyspark", "shapely", "sitecustomize", "socket", "zipfile")


def plant(parent):
    """Fill a folder with Python files named as what flowveil imports; put a Spark above it. Return it and the mark."""
    folder, mark = parent / "work", parent / "mark"
    for place in (folder, parent / "bin", parent / "jars"):
        place.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r} + ' ')\n")
    spark = parent / "bin" / "spark-submit"
    spark.write_text(f"#!/bin/sh\necho spark-submit >> '{mark}'\nexit 1\n")
    spark.chmod(0o755)
    return folder, mark


def marks(mark):
    """Return what was run."""
    return mark.read_text().split() if mark.exists() else []
