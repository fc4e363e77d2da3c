"""Exports: a release in the formats of other tools."""

from flowveil._export.formats import FORMATS, Export, export_flows

__all__ = ["FORMATS", "Export", "export_flows"]
