"""Exports: a release in the formats of other tools."""

from flowveil._export.formats import FORMATS, Export, export_release, find_format

__all__ = ["FORMATS", "Export", "export_release", "find_format"]
