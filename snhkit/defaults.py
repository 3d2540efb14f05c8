"""Defaults that several subpackages share; importing this module imports no library."""

__all__ = ["DEFAULT_EPSILON", "DEFAULT_METHODS", "DEFAULT_OWN_METHODS", "DEFAULT_SIZES_M"]

DEFAULT_EPSILON = 0.2
"""The default epsilon of ``snhkit compare`` and of the explorer."""

DEFAULT_METHODS = ("ug", "privtree", "identity", "snh", "denoised")
"""The methods that ``snhkit compare`` and the explorer build by default."""

DEFAULT_OWN_METHODS = ("denoised",)
"""The methods that the explorer builds by default if the user brings a dataset.

Each release costs a part of the dataset's budget, so the list is short.
"""

DEFAULT_SIZES_M = (25.0, 100.0)
"""The smallest and the largest side of a query in metres, as in the paper (Sec. 6.1)."""
