"""Releases, their file format, and their answers for polygons."""

from snhkit.release.release import Release

__all__ = ["Release"]
