"""ParamSelect, which predicts parameters of methods from public data (Sec. 5 of the paper)."""

from snhkit.select.features import entropy, features
from snhkit.select.paramselect import OutOfRangeWarning, ParamSelect

__all__ = ["OutOfRangeWarning", "ParamSelect", "entropy", "features"]
