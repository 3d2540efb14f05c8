"""SNH: the paper's method."""

from snhkit.neural.network import MLP, FeatureGrid
from snhkit.neural.snh import SNH

__all__ = ["MLP", "SNH", "FeatureGrid"]
