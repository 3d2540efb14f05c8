"""Comparing methods against the truth, as the paper does."""

from snhkit.experiment.compare import OWNER_ONLY, compare, compare_sizes
from snhkit.experiment.evaluation import SIZE_BANDS_M
from snhkit.experiment.methods import METHODS, Method, method
from snhkit.experiment.places import Place, thinned
from snhkit.experiment.sweep import intervals_over_seeds, sweep
from snhkit.metrics import relative_errors, smoothing

__all__ = [
    "METHODS",
    "OWNER_ONLY",
    "SIZE_BANDS_M",
    "Method",
    "Place",
    "compare",
    "compare_sizes",
    "intervals_over_seeds",
    "method",
    "relative_errors",
    "smoothing",
    "sweep",
    "thinned",
]
