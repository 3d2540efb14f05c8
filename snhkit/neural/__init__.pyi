from .denoiser.denoised_grid import DenoisedGrid as DenoisedGrid
from .denoiser.prior import Prior as Prior
from .dpsgd import DPSGD as DPSGD
from .networks.feature_grid import FeatureGrid as FeatureGrid
from .networks.mlp import MLP as MLP
from .networks.networks import Networks as Networks
from .snh import SNH as SNH

__all__ = ["DPSGD", "MLP", "SNH", "DenoisedGrid", "FeatureGrid", "Networks", "Prior"]
