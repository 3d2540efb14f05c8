"""Networks trained on a noisy grid: training squares, architectures, training and answers.

Augmentation is the paper's word for cutting training squares out of the grid (Sec. 4).
"""

from snhkit.neural.networks import augment
from snhkit.neural.networks.model import evaluate
from snhkit.neural.networks.tiles import core_and_frame

__all__ = ["augment", "core_and_frame", "evaluate"]
