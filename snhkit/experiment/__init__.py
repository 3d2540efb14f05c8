"""Comparing methods against the truth, as the paper does."""

from snhkit.experiment.compare import OWNER_ONLY, compare, compare_sizes
from snhkit.experiment.evaluation import SIZE_BANDS_M
from snhkit.experiment.methods import METHODS, Method, method
from snhkit.metrics import relative_errors, smoothing

__all__ = [
    "METHODS",
    "OWNER_ONLY",
    "SIZE_BANDS_M",
    "Method",
    "compare",
    "compare_sizes",
    "method",
    "relative_errors",
    "smoothing",
]
