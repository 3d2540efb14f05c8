"""Methods that train networks: SNH, the denoised grid, and DP-SGD for comparison.

The names are listed in ``__init__.pyi`` and loaded at first use, so that all other methods work
where JAX is missing.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
