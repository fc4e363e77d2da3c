"""Exports: a release in the formats of other tools."""

from flowveil.export._export import FORMATS, Export, export

__all__ = ["FORMATS", "Export", "export"]
