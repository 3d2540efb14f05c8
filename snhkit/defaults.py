"""Defaults that several subpackages share; importing this module imports no library."""

__all__ = ["DEFAULT_EPSILON", "DEFAULT_METHODS", "DEFAULT_OWN_METHODS", "DEFAULT_SIZES_M"]

DEFAULT_EPSILON = 0.2
"""The epsilon of ``snhkit compare`` and, at first, of the explorer."""

DEFAULT_METHODS = ("ug", "privtree", "identity", "snh", "denoised")
"""The methods that ``snhkit compare`` and the explorer build by default."""

DEFAULT_OWN_METHODS = ("denoised",)
"""The methods that the explorer builds of somebody's own records unless told otherwise.

Each costs a part of the budget.
"""

DEFAULT_SIZES_M = (25.0, 100.0)
"""The smallest and the largest side of a query in metres, as in the paper (Sec. 6.1)."""
