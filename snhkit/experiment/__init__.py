"""Measured errors of releases: comparisons, sweeps, and answers as files."""

from snhkit.experiment.compare import OWNER_ONLY, compare, compare_sizes
from snhkit.experiment.evaluation import Place, thinned
from snhkit.experiment.sweep import intervals_over_seeds, sweep

__all__ = [
    "OWNER_ONLY",
    "Place",
    "compare",
    "compare_sizes",
    "intervals_over_seeds",
    "sweep",
    "thinned",
]
