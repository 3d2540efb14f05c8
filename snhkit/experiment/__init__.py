"""Comparing methods against the truth, as the paper does."""

from snhkit.experiment.compare import OWNER_ONLY, compare
from snhkit.experiment.methods import METHODS, Method, method
from snhkit.metrics import relative_errors, smoothing

__all__ = [
    "METHODS",
    "OWNER_ONLY",
    "Method",
    "compare",
    "method",
    "relative_errors",
    "smoothing",
]
