"""Readers of records, the twelve cities of the SNH paper, and synthetic records in these cities.

The names are listed in ``__init__.pyi`` and loaded at first use, so that cities and synthetic
records work where Arrow is missing.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
