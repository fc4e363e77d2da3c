"""Exports: a release in the formats of other tools."""

from flowveil._export.formats import FORMATS, Export, check_format, export_release, find_format, formats_of

__all__ = ["FORMATS", "Export", "check_format", "export_release", "find_format", "formats_of"]
