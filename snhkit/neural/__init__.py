"""What learns: SNH, the paper's method, and DP-SGD, which it replaces."""

from snhkit.neural.dpsgd import DPSGD
from snhkit.neural.network import MLP, FeatureGrid
from snhkit.neural.networks import Networks
from snhkit.neural.prior import Prior
from snhkit.neural.snh import SNH

__all__ = ["DPSGD", "MLP", "SNH", "FeatureGrid", "Networks", "Prior"]
