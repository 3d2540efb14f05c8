"""Methods that train networks: SNH, the denoised grid, and DP-SGD for comparison."""

from snhkit.neural.denoiser.denoised_grid import DenoisedGrid
from snhkit.neural.denoiser.prior import Prior
from snhkit.neural.dpsgd.dpsgd import DPSGD
from snhkit.neural.networks.feature_grid import FeatureGrid
from snhkit.neural.networks.mlp import MLP
from snhkit.neural.networks.networks import Networks
from snhkit.neural.snh import SNH

__all__ = ["DPSGD", "MLP", "SNH", "DenoisedGrid", "FeatureGrid", "Networks", "Prior"]
