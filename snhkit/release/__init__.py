"""What is published: a release, its file format, and its answers for polygons."""

from snhkit.release.release import Release

__all__ = ["Release"]
