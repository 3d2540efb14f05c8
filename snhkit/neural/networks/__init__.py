"""The paper's networks: augmentation, architectures, training and answers (Sec. 4)."""

from snhkit.neural.networks import augment
from snhkit.neural.networks.model import evaluate
from snhkit.neural.networks.tiles import core_and_frame

__all__ = ["augment", "core_and_frame", "evaluate"]
