"""The paper's experiments, measured again, and the data sets that they need."""

from snhkit.reproduction.gowalla import gowalla
from snhkit.reproduction.stay_points import stay_points, synthetic_trace

__all__ = ["gowalla", "stay_points", "synthetic_trace"]
