"""Matplotlib figures of releases, of their errors, and of how the methods work."""

from snhkit.viz.figures.cell_figure import cells_figure
from snhkit.viz.figures.closeup import closeup_figure
from snhkit.viz.figures.curves import error_curves
from snhkit.viz.figures.panels import method_panels
from snhkit.viz.figures.plots import surface_figure
from snhkit.viz.figures.style import method_styles
from snhkit.viz.figures.two_worlds import two_worlds
from snhkit.viz.figures.winners import winners_figure

__all__ = [
    "cells_figure",
    "closeup_figure",
    "error_curves",
    "method_panels",
    "method_styles",
    "surface_figure",
    "two_worlds",
    "winners_figure",
]
