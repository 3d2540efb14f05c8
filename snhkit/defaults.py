"""Default values that several subpackages share; this module imports no other module."""

DEFAULT_EPSILON = 0.2
"""The default epsilon of the command ``snhkit compare`` and of ``explore``."""

DEFAULT_LEVEL = 0.9
"""The default level of intervals for true counts, which every table, map and page uses."""

DEFAULT_METHODS = ("ug", "privtree", "identity", "snh", "denoised")
"""The methods that ``snhkit compare`` and ``explore`` build by default, by short name."""

DEFAULT_OWN_METHODS = ("denoised",)
"""The methods that ``explore`` builds by default if it is given private records.

Each release costs a part of the records' budget, so the list is short.
"""

DEFAULT_SIZES_M = (25.0, 100.0)
"""The default smallest and largest side of a query, in metres, as in the paper (Sec. 6.1)."""
