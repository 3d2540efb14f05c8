"""The explorer: choose a city, epsilon and methods, draw boxes, and compare the answers."""

from snhkit.widgets.opening import explore

__all__ = ["explore"]
