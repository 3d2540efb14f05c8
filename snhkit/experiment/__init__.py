"""Measured errors of releases, expected errors of methods, and the paper's experiments."""

from snhkit.experiment.compare import OWNER_ONLY, compare, compare_sizes
from snhkit.experiment.evaluation import SIZE_BANDS_M
from snhkit.experiment.expected import epsilon_for, expected_error
from snhkit.experiment.methods import METHODS, Method, method, title
from snhkit.experiment.places import Place, thinned
from snhkit.experiment.plan_table import plan_table
from snhkit.experiment.recommend import Recommendation, recommend
from snhkit.experiment.sweep import intervals_over_seeds, sweep
from snhkit.metrics import relative_errors, smoothing

__all__ = [
    "METHODS",
    "OWNER_ONLY",
    "SIZE_BANDS_M",
    "Method",
    "Place",
    "Recommendation",
    "compare",
    "compare_sizes",
    "epsilon_for",
    "expected_error",
    "intervals_over_seeds",
    "method",
    "plan_table",
    "recommend",
    "relative_errors",
    "smoothing",
    "sweep",
    "thinned",
    "title",
]
