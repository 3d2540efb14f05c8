"""Differentially private range counts over locations.

The public names are listed in ``__init__.pyi`` and loaded at first use, so that ``import snhkit``
is quick.
"""

from importlib.metadata import version

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
__version__ = version("snhkit")
